"""``python -m gtpca`` is the command ``gtpca``."""

from gtpca_command import main

if __name__ == "__main__":
    main()
