import { isThisMachine } from '@bulkhead/kit/hosts'
import { RequestFault } from '../fault.ts'

/**
 * Refuses requests that a page of another site made, also one whose host name was pointed at this machine. `origins`: where
 * the inspector is reached besides loopback, such as `https://ops.example`. Throws WrongHost.
 */
export function requireOwnSite(request: Request, origins: readonly string[]): void {
  const { host, protocol } = new URL(request.url)
  const asked = request.headers.get('host') ?? host
  const known = origins.some((origin) => URL.parse(origin)?.host === asked.toLowerCase())
  if (!known && !isLoopback(asked)) throw wrong(`The inspector is not served for the host "${asked.slice(0, 100)}".`)
  const origin = request.headers.get('origin')
  if (origin !== null && !origins.includes(origin) && origin !== `${protocol}//${asked}`) {
    throw wrong('A page of another site made this request.')
  }
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none') {
    // A link from another site may open the page, and nothing else.
    const isNavigation = request.method === 'GET' && request.headers.get('sec-fetch-mode') === 'navigate'
      && request.headers.get('sec-fetch-dest') === 'document'
    if (!isNavigation) throw wrong('A page of another site made this request.')
  }
}

function isLoopback(host: string): boolean {
  const url = URL.parse(`http://${host}`)
  return url !== null && url.host === host.toLowerCase().replace(/:80$/, '') && isThisMachine(url)
}

const wrong = (message: string): RequestFault => new RequestFault('WrongHost', message)

/** On every answer. The page loads nothing from elsewhere, runs no inline code, and cannot be framed. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    + "require-trusted-types-for 'script'; trusted-types 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'publickey-credentials-get=(self)',
}

/** Adds the headers that every answer has. */
export function guarded(response: Response): Response {
  for (const [name, value] of Object.entries(HEADERS)) if (!response.headers.has(name)) response.headers.set(name, value)
  return response
}
