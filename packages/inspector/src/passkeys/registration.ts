import { randomBytes, timingSafeEqual } from 'node:crypto'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { checkRegistration } from '@bulkhead/kit/webauthn'
import { messagePage, NOTE, page, pageHeaders, shown } from '../plain/page.ts'
import { faultOfPage } from './demand.ts'
import { REGISTER_SCRIPT } from './scripts.ts'

/** What a browser made. Texts are base64url. */
export interface NewPasskey {
  readonly id: string
  readonly publicKey: string
  readonly rpId: string
  readonly origin: string
}

export interface RegistrationOptions {
  /** Where the page is reached: https, or http on localhost, with a slash at its end. */
  readonly base: string
  readonly name: string
  /** Ids of those that exist: a browser that has one of them makes no other. */
  readonly known: readonly string[]
  /** Keeps it. Rejects with an Error for people. */
  add(passkey: NewPasskey): Promise<void>
}

export interface Registration {
  /** Opens the page. It makes one passkey. */
  readonly link: string
  /** Contract: never rejects. */
  fetch(request: Request): Promise<Response>
}

const MOST_BODY_BYTES = 64 * 1024
const MOST_WRONG = 10

/** A page on which a person makes a passkey. Throws an Error for a base without passkeys. */
export function createRegistration({ base: given, name, known, add }: RegistrationOptions): Registration {
  const base = readBase(given)
  const [token, challenge] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]
  const rpId = base.hostname
  let wrong = 0
  let isOver = false

  async function made(body: JsonObject): Promise<object> {
    const passkey = readRegistration(body['passkey'])
    if (passkey === undefined) throw new Error('The browser sent no passkey that can be read.')
    const checked = checkRegistration(passkey, rpId, { challenge, isOrigin: (origin) => origin === base.origin })
    if ('fault' in checked) throw new Error(`The passkey does not count: ${checked.fault}.`)
    isOver = true
    try {
      await add({ id: passkey.credential, publicKey: passkey.publicKey, rpId, origin: base.origin })
    } catch (thrown) {
      isOver = false
      throw thrown
    }
    return { words: `Added the passkey ${name}. You can close this page.` }
  }

  async function post(request: Request, path: string): Promise<Response> {
    if (request.headers.get('origin') !== base.origin) return refused(403, 'A page of another site made this request.')
    if (!/^application\/json\b/.test(request.headers.get('content-type') ?? '')) return refused(415, 'Send JSON.')
    const body = await bodyOf(request)
    if (wrong >= MOST_WRONG || !isSame(body?.['token'], token)) {
      wrong++
      return refused(403, 'The link is wrong. Open the one that "bulkhead passkey add" printed.')
    }
    if (isOver) return refused(410, 'The passkey was added. Run "bulkhead passkey add" for another one.')
    if (path === 'options') {
      return Response.json({ challenge, relyingParty: rpId, name, user: randomBytes(16).toString('base64url'), known })
    }
    return path === 'add' ? Response.json(await made(body!)) : refused(404, 'Nothing is here.')
  }

  return {
    link: `${base.href}#${token}`,
    async fetch(request) {
      const url = new URL(request.url)
      // A name of another site that resolves to this address.
      if (url.host !== base.host) return refused(421, 'This address is not served here.')
      const path = url.pathname.startsWith(base.pathname) ? url.pathname.slice(base.pathname.length) : undefined
      if (request.method === 'POST' && path) {
        return post(request, path).catch((thrown: unknown) => refused(422, (thrown as Error).message))
      }
      if (request.method !== 'GET' || path !== '') return html(404, messagePage('Not found', 'Nothing is here.'))
      return html(200, registrationPage(name, rpId), REGISTER_SCRIPT)
    },
  }
}

const registrationPage = (name: string, rpId: string): string => page('Add a passkey', `<p>The passkey
<strong>${shown(name)}</strong> for ${shown(rpId)} will allow calls of agents that a rule keeps from every other answer.</p>
<button type="button">Create it</button>${NOTE}<noscript>This page needs JavaScript.</noscript>`, REGISTER_SCRIPT)

function readBase(text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new Error(`"${text}" is no address for a page. Use one such as https://ops.example/passkeys/.`)
  }
  const fault = faultOfPage(url.origin)
  if (fault !== undefined) throw new Error(fault)
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** What `PublicKeyCredential.toJSON()` returns for a new one. */
function readRegistration(value: Json | undefined) {
  const { id, response } = isJsonObject(value) ? value : {}
  const { authenticatorData, clientDataJSON, publicKey } = isJsonObject(response) ? response : {}
  const isWhole = [id, authenticatorData, clientDataJSON, publicKey].every((text) => typeof text === 'string')
  return isWhole
    ? { credential: id, authenticatorData, clientDataJSON, publicKey } as Record<'credential' | 'authenticatorData' | 'clientDataJSON' | 'publicKey', string>
    : undefined
}

const isSame = (given: Json | undefined, expected: string): boolean => {
  const [one, other] = [Buffer.from(typeof given === 'string' ? given : ''), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

const html = (status: number, text: string, script?: string): Response => new Response(text, { status, headers: pageHeaders(script) })
const refused = (status: number, error: string): Response => Response.json({ error }, { status })

async function bodyOf(request: Request): Promise<JsonObject | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > MOST_BODY_BYTES) throw new Error('The body is too long.')
    chunks.push(chunk)
  }
  const parsed = parseJson(Buffer.concat(chunks).toString('utf8'))
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}
