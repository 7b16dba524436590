import numpy as np
from scipy.signal import lfilter, detrend
from scipy.ndimage import gaussian_filter
from gtpca import Shift
N,SIZE,WINDOW=100,96,24
def ar(coefs, draw=None):
    def made(rng, n=N, size=SIZE):
        e=(draw or (lambda r,s: r.standard_normal(s)))(rng,(n,size+200))
        X=lfilter([1.0],np.r_[1.0,-np.asarray(coefs)],e,axis=1)[:,200:]
        return X
    return made
def power_law(exponent, longer=16):
    def made(rng, n=N, size=SIZE):
        total=longer*size; f=np.fft.rfftfreq(total); f[0]=f[1]
        F=np.fft.rfft(rng.standard_normal((n,total)))*f**(-exponent/2)
        starts=rng.integers(total-size+1,size=n)
        return np.stack([r[a:a+size] for r,a in zip(np.fft.irfft(F,total),starts)])
    return made
def bursts(rng, n=N, size=SIZE):
    loud=np.repeat(rng.random((n,size//8+1))<.15,8,axis=1)
    loud=np.stack([r[a:a+size] for r,a in zip(loud,rng.integers(8,size=n))])
    return rng.standard_normal((n,size))*np.where(loud,5.0,1.0)
pole=.97*np.exp(2j*np.pi/12); narrow=[2*pole.real,-abs(pole)**2]
def spectra(rng):
    k=rng.uniform(-.5,.95,size=N); e=rng.standard_normal((N,SIZE+200)); x=np.zeros((N,SIZE+200))
    for t in range(1,SIZE+200): x[:,t]=k*x[:,t-1]+e[:,t]
    x=x[:,200:]; return x*np.sqrt(1-k[:,None]**2)
def zscored(make): return lambda rng: (lambda X:(X-X.mean(1,keepdims=True))/X.std(1,keepdims=True))(make(rng))
def unit(make): return lambda rng: (lambda X:X/np.linalg.norm(X,axis=1,keepdims=True))(make(rng))
def less(make): return lambda rng: (lambda X:X-X.mean(1,keepdims=True))(make(rng))
def gaps(make):
    def made(rng):
        X=make(rng); H=np.zeros(X.shape,bool)
        while H.mean()<.2:
            i,a,l=rng.integers(len(X)),rng.integers(X.shape[1]),rng.integers(1,9); H[i,a:a+l]=True
        return np.where(H,np.nan,X)
    return made
def ends(make):
    def made(rng):
        X=make(rng).copy()
        for x,l in zip(X,rng.integers(WINDOW*2,SIZE+1,size=len(X))): x[l:]=np.nan
        return X
    return made
def channels(rng):
    common=ar([.8])(rng,100)[:,:48,None]; own=rng.standard_normal((100,48,8))
    return common*rng.uniform(.5,1.5,size=8)+own
def images(exponent, heavy=False):
    def made(rng, n=100, size=16):
        f=np.hypot(*np.meshgrid(np.fft.fftfreq(64),np.fft.fftfreq(64),indexing="ij")); f[0,0]=1/64
        e=rng.standard_t(3,size=(n,64,64)) if heavy else rng.standard_normal((n,64,64))
        X=np.fft.ifft2(np.fft.fft2(e)*f**(-exponent/2)).real
        return X[:,24:24+size,24:24+size]
    return made
def heavy_images(rng): return gaussian_filter(rng.standard_t(3,size=(100,32,32)),(0,1,1))[:,8:24,8:24]
S,I=Shift(WINDOW),Shift((6,6))
d={}
W=lambda draw: (lambda rng: draw(rng,(N,SIZE)))
KINDS={
"white":(W(lambda r,s:r.standard_normal(s)),S,d),
"Laplace":(W(lambda r,s:r.laplace(size=s)),S,d),
"t(3)":(W(lambda r,s:r.standard_t(3,size=s)),S,d),
"t(8)":(W(lambda r,s:r.standard_t(8,size=s)),S,d),
"Poisson(.5)":(W(lambda r,s:r.poisson(.5,s).astype(float)),S,d),
"Poisson(5)":(W(lambda r,s:r.poisson(5,s).astype(float)),S,d),
"uniform":(W(lambda r,s:r.uniform(-1,1,s)),S,d),
"bursts":(bursts,S,d),
"AR(1) .3":(ar([.3]),S,d),"AR(1) .9":(ar([.9]),S,d),"AR(2) narrow":(ar(narrow),S,d),
"AR(.8) by t(5)":(ar([.8],lambda r,s:r.standard_t(5,size=s)),S,d),
"1/f":(power_law(1.0),S,d),"1/f^2":(power_law(2.0),S,d),
"loudness":(lambda r:r.standard_normal((N,SIZE))*np.exp(.7*r.standard_normal((N,1))),S,d),
"spectra":(spectra,S,d),
"z AR(.9)":(zscored(ar([.9])),S,d),"z 1/f":(zscored(power_law(1.0)),S,d),
"unit AR2":(unit(ar(narrow)),S,d),"unit AR.9":(unit(ar([.9])),S,d),"less 1/f":(less(power_law(1.0)),S,d),"less AR.9":(less(ar([.9])),S,d),
"less Poisson(.5)":(less(W(lambda r,s:r.poisson(.5,s).astype(float))),S,d),
"detrended 1/f":(lambda r:detrend(power_law(1.0)(r),axis=1),S,{"preprocess":lambda X:detrend(X,axis=1)}),
"detrended AR.9":(lambda r:detrend(ar([.9])(r),axis=1),S,{"preprocess":lambda X:detrend(X,axis=1)}),
"gaps AR.9":(gaps(ar([.9])),S,d),"gaps white":(gaps(W(lambda r,s:r.standard_normal(s))),S,d),"ends AR.9":(ends(ar([.9])),S,d),"ends Laplace":(ends(W(lambda r,s:r.laplace(size=s))),S,d),
"6 rows white":(lambda r:r.standard_normal((6,SIZE)),S,d),"6 rows AR2":(lambda r:ar(narrow)(r,6),S,d),
"channels":(channels,Shift(12,axes=0),d),
"images 1/f":(images(1.0),I,d),"images 1/f^2":(images(2.0),I,d),"heavy images":(heavy_images,I,d),"heavy images law":(images(2.0,True),I,d),
}
