import type { PasskeyChoice } from '@bulkhead/contract'
import { mayUsePasskeysOf } from '@bulkhead/kit/webauthn'
import type { PasskeyDemand } from '../protocol.ts'

/** What the host wants to be signed, and by which passkeys. */
export interface AskedPasskey {
  /** Base64url. */
  readonly challenge: string
  readonly credentials: readonly PasskeyChoice[]
}

/** For a page with this origin. The nearest name counts. A string says why the page can ask for none. */
export function demandFor({ challenge, credentials }: AskedPasskey, origin: string): PasskeyDemand | string {
  const usable = credentials.filter(({ rpId }) => mayUsePasskeysOf(origin, rpId))
  const [first, ...others] = usable.map(({ rpId }) => rpId)
  if (first === undefined) return faultOfPage(origin) ?? noneFor(origin)
  const relyingParty = others.reduce((nearest, rpId) => rpId.length > nearest.length ? rpId : nearest, first)
  return {
    challenge, relyingParty, credentials: usable.filter(({ rpId }) => rpId === relyingParty).map(({ id }) => id),
  }
}

/** Why no page with this origin can use passkeys. */
export function faultOfPage(origin: string): string | undefined {
  const { protocol, hostname, port } = new URL(origin)
  if (/^[\d.]+$|^\[/.test(hostname)) {
    return `Browsers have no passkeys for an address. Open this page as ${protocol}//localhost${port && `:${port}`}/.`
  }
  return protocol === 'https:' || hostname === 'localhost' ? undefined : 'Passkeys need https, or http://localhost.'
}

const noneFor = (origin: string): string =>
  `No passkey is known for ${new URL(origin).hostname}. Add one: bulkhead passkey add`
  + (new URL(origin).hostname === 'localhost' ? '' : ` --base ${origin}/`)
