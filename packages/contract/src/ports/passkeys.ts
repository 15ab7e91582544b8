import type { PasskeyChoice, SealedPage } from '../model/passkeys.ts'

/** A passkey that counts. */
export interface Passkey extends PasskeyChoice {
  /** For lists and the audit. */
  readonly name: string
  /** SubjectPublicKeyInfo in base64url, as `getPublicKey()` of a browser returns it: ES256, EdDSA or RS256. */
  readonly publicKey: string
  /** Pages that may ask for it besides those of this host and this user, such as `https://ops.example`. */
  readonly origins: readonly string[]
}

/** One signature that is right. */
export interface UsedPasskey {
  readonly credential: string
  /** 0: the authenticator does not count. */
  readonly counter: number
  readonly nonce: string
  /** Milliseconds since 1970: the nonce is too old by then. */
  readonly until: number
}

/** The passkeys that a host accepts. Nothing that a tool or a store can write is in it. */
export interface PasskeyRing {
  /** Throws StoreUnavailable if they cannot be read. */
  keys(): readonly Passkey[]
  /**
   * Notes a signature, once. Returns why it does not count: its nonce was used, or its counter is not above the last one.
   * Throws StoreUnavailable, and then it does not count.
   */
  use(used: UsedPasskey): string | undefined
  /** Says for the hosts of this user that a page of this process showed the question. undefined: it cannot. */
  seal(nonce: string, origin: string): SealedPage | undefined
  isSealed(nonce: string, page: SealedPage): boolean
}
