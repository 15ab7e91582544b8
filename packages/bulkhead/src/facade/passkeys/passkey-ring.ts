import { dirname, join } from 'node:path'
import { BulkheadError, type Passkey, type PasskeyRing, type UsedPasskey } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { tryFileLock } from '@bulkhead/kit/file-lock'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { forms } from '@bulkhead/kit/options'
import { readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { isMac, macOf } from '@bulkhead/kit/signed-message'
import { passkeyFile, readPasskeys } from './passkey-file.ts'

/** Of the option of `createHost`. */
export const PASSKEYS_FORM = forms.list(forms.whole({
  id: forms.text, name: forms.text, rpId: forms.text, publicKey: forms.text, origins: forms.list(forms.text),
}))

/** What is known of earlier signatures. */
interface Used {
  /** The highest counter of each credential. */
  readonly counters: Readonly<Record<string, number>>
  /** When each nonce may be forgotten: it is too old by then. */
  readonly nonces: Readonly<Record<string, number>>
}

const NONE: Used = { counters: {}, nonces: {} }
const PURPOSE = 'page of a passkey'

/** The passkeys of a user, as their file is now. */
export function ownRing(home: string | undefined): PasskeyRing {
  const file = passkeyFile(home)
  const used = join(dirname(file), 'passkeys-used.json')
  const macFor = (nonce: string, origin: string): string | undefined => {
    const secret = readPasskeys(file)?.secret
    return secret === undefined ? undefined : macOf(secret, PURPOSE, JSON.stringify([nonce, origin]))
  }
  return {
    keys: () => (readPasskeys(file)?.passkeys ?? []).filter(({ removed }) => removed === undefined)
      .map(({ id, rpId, name, publicKey, origin }) =>
        // Another program may listen on a port of this machine later.
        ({ id, rpId, name, publicKey, origins: origin.startsWith('https:') ? [origin] : [] })),
    use(signature) {
      const release = locked(used)
      try {
        return noted(signature, () => readUsed(used), (next) => writePrivateFile(used, `${JSON.stringify(next)}\n`))
      } finally {
        release()
      }
    },
    seal(nonce, origin) {
      const seal = macFor(nonce, origin)
      return seal === undefined ? undefined : { origin, seal }
    },
    isSealed(nonce, { origin, seal }) {
      const expected = macFor(nonce, origin)
      return expected !== undefined && isMac(seal, expected)
    },
  }
}

/** Those of an embedder. What was used is known while the process lives. */
export function givenRing(passkeys: readonly Passkey[]): PasskeyRing {
  let known = NONE
  return {
    keys: () => passkeys,
    use: (signature) => noted(signature, () => known, (next) => { known = next }),
    seal: () => undefined,
    isSealed: () => false,
  }
}

function noted(
  { credential, counter, nonce, until }: UsedPasskey, read: () => Used, write: (next: Used) => void,
): string | undefined {
  const { counters, nonces } = read()
  const last = Object.hasOwn(counters, credential) ? counters[credential]! : 0
  if (Object.hasOwn(nonces, nonce)) return 'it was used before'
  if (last > 0 && counter <= last) return 'its counter went back: the passkey may have been copied'
  const now = Date.now()
  write({
    counters: { ...counters, [credential]: counter },
    nonces: { ...Object.fromEntries(Object.entries(nonces).filter(([, end]) => end > now)), [nonce]: until },
  })
  return undefined
}

/** Two hosts at the same time must both be noted. Throws StoreUnavailable: the person can answer again. */
function locked(used: string): () => void {
  try {
    const release = tryFileLock(join(dirname(used), 'locks', 'passkeys-used'))
    if (release) return release
  } catch (error) {
    throw new BulkheadError('StoreUnavailable', `${used} cannot be used: ${messageOf(error)}`)
  }
  throw new BulkheadError('StoreUnavailable', `Another process uses ${used} now. Answer again.`)
}

/** Throws StoreUnavailable: without it, a signature could count twice. */
function readUsed(file: string): Used {
  try {
    const text = readPrivateFile(file)
    if (text === undefined) return NONE
    const parsed = parseJson(text)
    const { counters, nonces } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
    if (!isNumbers(counters) || !isNumbers(nonces)) throw new Error('it has another form')
    return { counters, nonces }
  } catch (error) {
    throw new BulkheadError('StoreUnavailable', `${file} cannot be read: ${messageOf(error)}. Restore it with mode 0600.`)
  }
}

const isNumbers = (value: Json | undefined): value is Readonly<Record<string, number>> =>
  isJsonObject(value) && Object.values(value).every((one) => typeof one === 'number')
