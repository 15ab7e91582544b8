import { wholeAssertion, type AuditEntry } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { checkPasskey, mayUsePasskeysOf, passkeyChallenge, type SignedParts } from '@bulkhead/kit/webauthn'
import { passkeyFile, readPasskeys, type OwnPasskey } from '../../facade/passkeys/passkey-file.ts'

/** What became of the answers with a passkey. */
export interface PasskeyReport {
  /** Signatures that are right. */
  readonly right: number
  /** Of passkeys that the home does not know: they prove nothing here. */
  readonly unknown: number
  /** The first record whose passkey does not count. */
  readonly wrong?: { readonly position: number; readonly reason: string }
}

/** Checks the passkeys of an audit against the public keys of a home. What a record says about a key proves nothing. */
export class AuditPasskeys {
  readonly #home: string | undefined
  /** Read when the first one is met. */
  #keys: ReadonlyMap<string, OwnPasskey> | undefined
  /** By position: a record may be read twice. */
  readonly #found = new Map<number, 'right' | 'unknown' | { readonly reason: string }>()
  /** The record that used each nonce. */
  readonly #nonces = new Map<string, number>()

  constructor(home: string | undefined) {
    this.#home = home
  }

  /** Throws StoreUnavailable if the passkeys cannot be read. */
  readonly note = ({ position, record }: AuditEntry): void => {
    const { type, passkey, callId, at, status } = isJsonObject(record) ? record : {}
    if (type !== 'InteractionAnswered' || passkey === undefined) return
    const { nonce, question, answer } = isJsonObject(passkey) ? passkey : {}
    const given = wholeAssertion(passkey)
    const isWhole = [nonce, question, answer, callId, at].every((text) => typeof text === 'string')
    if (!given || !isWhole || status !== 'accepted') {
      this.#found.set(position, { reason: 'it is not whole' })
      return
    }
    const parts = { callId, question, answer, nonce } as SignedParts
    const first = this.#nonces.getOrInsert(parts.nonce, position)
    this.#found.set(position, first === position ? this.#check(given, parts, at as string)
      : { reason: `record ${first} has the same signature` })
  }

  get report(): PasskeyReport {
    const all = [...this.#found]
    const count = (what: string): number => all.filter(([, found]) => found === what).length
    const wrong = all.flatMap(([position, found]) => typeof found === 'string' ? [] : [{ position, ...found }])
      .toSorted((a, b) => a.position - b.position)[0]
    return { right: count('right'), unknown: count('unknown'), ...(wrong && { wrong }) }
  }

  #check(
    given: NonNullable<ReturnType<typeof wholeAssertion>>, parts: SignedParts, at: string,
  ): 'right' | 'unknown' | { readonly reason: string } {
    this.#keys ??= new Map((readPasskeys(passkeyFile(this.#home))?.passkeys ?? []).map((key) => [key.id, key]))
    const key = this.#keys.get(given.credential)
    if (key === undefined) return 'unknown'
    if (key.removed !== undefined && at > key.removed) return { reason: `the passkey ${key.name} was removed before` }
    const isOrigin = (origin: string): boolean => mayUsePasskeysOf(origin, key.rpId)
    const checked = checkPasskey(given, key, { challenge: passkeyChallenge(parts), isOrigin })
    return 'fault' in checked ? { reason: checked.fault } : 'right'
  }
}
