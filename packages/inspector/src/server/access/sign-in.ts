import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { RequestFault } from '../fault.ts'

const TOKEN_MS = 5 * 60_000
/** Wrong tokens until a fresh link is needed. */
const MOST_WRONG = 10
/** Links that were printed and not used. The oldest is void then. */
const MOST_TOKENS = 8
/** Tabs that are signed in. The oldest is signed out then. */
const MOST_KEYS = 64

interface Token {
  readonly digest: Buffer
  readonly until: number
}

/**
 * Tokens that sign in once, and the keys that they are exchanged for. Only digests are kept: comparing digests takes the
 * same time for every guess.
 */
export class SignInDesk {
  readonly #now: () => number
  #tokens: readonly Token[] = []
  #keys: readonly Buffer[] = []
  #wrong = 0

  /** `now`: milliseconds that never decrease. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A fresh token. It opens sign-in again if too many were wrong. */
  token(): string {
    const token = secret()
    this.#wrong = 0
    this.#tokens = [...this.#valid(), { digest: digestOf(token), until: this.#now() + TOKEN_MS }].slice(-MOST_TOKENS)
    return token
  }

  /** Uses up a token and returns a key. Throws TokenInvalid or TooManyAttempts. */
  exchange(token: string): string {
    if (this.#wrong >= MOST_WRONG) {
      throw new RequestFault('TooManyAttempts', 'Too many wrong tokens. Print a fresh link on the machine of the server.')
    }
    const digest = digestOf(token)
    const used = this.#valid().filter((one) => timingSafeEqual(one.digest, digest))
    if (used.length === 0) {
      this.#wrong++
      throw new RequestFault('TokenInvalid', 'The link was used, is older than five minutes, or is wrong. Print a fresh one.')
    }
    this.#tokens = this.#valid().filter((one) => !used.includes(one))
    const key = secret()
    this.#keys = [...this.#keys, digestOf(key)].slice(-MOST_KEYS)
    return key
  }

  /** Throws SignInNeeded. */
  require(authorization: string | null): void {
    const [, key] = /^Bearer ([\w-]{1,100})$/i.exec(authorization ?? '') ?? []
    const digest = digestOf(key ?? '')
    // Every key is compared, so that the time does not tell which one it was.
    const isKnown = this.#keys.reduce((found, one) => timingSafeEqual(one, digest) || found, false)
    if (!isKnown) throw new RequestFault('SignInNeeded', 'Sign in first, with a fresh link.')
  }

  #valid(): readonly Token[] {
    const now = this.#now()
    return this.#tokens.filter(({ until }) => until > now)
  }
}

const secret = (): string => randomBytes(32).toString('base64url')
const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')
