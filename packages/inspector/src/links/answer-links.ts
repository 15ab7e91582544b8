import { ANSWER_LIMITS, BulkheadError, readAssertion, type InteractionResponse } from '@bulkhead/contract'
import { isThisMachine } from '@bulkhead/kit/hosts'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import { requireSecret, SignedMessages } from '@bulkhead/kit/signed-message'
import { FormFault, readForm } from './link-form.ts'
import { questionPage, scriptOf } from './link-page.ts'
import { linkToken, readToken, type Linked } from './link-token.ts'
import { demandFor } from '../passkeys/demand.ts'
import { messagePage, pageHeaders } from '../plain/page.ts'
import type { LinkedQuestion, LinkedQuestions } from './questions.ts'

export interface AnswerLinksOptions {
  readonly questions: LinkedQuestions
  /** Where people reach it: https, or http on loopback. Links are below it. */
  readonly base: string
  /** At least 32 characters. Signs links. */
  readonly secret: string
  /** Takes answers of a webhook that are signed with this. Absent: none. */
  readonly webhookSecret?: string
  /** How long a link works. Default: a day. */
  readonly minutes?: number
  readonly now?: () => number
}

export interface AnswerLinks {
  /** A link to one question. It works until the question is answered, and at most for `minutes`. */
  link(question: Linked): string
  /** Where a webhook sends answers. */
  readonly callback: string
  /** undefined for an address that is not below the base. Contract: never rejects. */
  fetch(request: Request): Promise<Response | undefined>
}

/** The purpose of an answer that a webhook signs. */
export const ANSWER_PURPOSE = 'answer of a webhook'

/** Throws an Error for a base that is not safe, and for a short secret. */
export function createAnswerLinks(options: AnswerLinksOptions): AnswerLinks {
  const { questions, minutes = ANSWER_LIMITS.linkMinutes, webhookSecret, now = Date.now } = options
  const secret = requireSecret(options.secret)
  const base = readBase(options.base)
  const messages = webhookSecret === undefined ? undefined : new SignedMessages(webhookSecret, ANSWER_PURPOSE)

  async function question(request: Request, token: string): Promise<Response> {
    const linked = readToken(secret, token, now())
    const found = linked && await questions.find(linked.id)
    if (!found || found.state !== 'waits' || found.round !== linked.round) return over()
    const script = scriptOf(found.request)
    if (request.method !== 'POST') return html(200, questionPage(found), script)
    // A form of another site has another origin.
    if (request.headers.get('origin') !== base.origin) return html(403, messagePage('Refused', 'The answer did not come from this page.'))
    if (!/^application\/x-www-form-urlencoded\b/.test(request.headers.get('content-type') ?? '')) return html(415, messagePage('Refused', 'Send the form of this page.'))
    const form = new URLSearchParams(await bodyOf(request))
    if (form.get('passkey') === 'ask') return demand(found, form)
    try {
      const response = withPasskey(readForm(found.request, form), form.get('passkey') ?? '')
      const from = { by: 'a person with a link', way: 'link', round: found.round, origin: base.origin }
      const fate = await questions.answer(found.id, response, from)
      return html(200, messagePage('Answered', FATES[fate] ?? 'The answer is stored.'))
    } catch (thrown) {
      if (thrown instanceof FormFault || codeOf(thrown) === 'InputInvalid') return html(422, questionPage(found, (thrown as Error).message), script)
      if (codeOf(thrown) === 'InteractionAlreadyAnswered') return html(409, messagePage('Too late', (thrown as Error).message))
      throw thrown
    }
  }

  /** What the browser signs for the answer in the form. */
  async function demand(found: LinkedQuestion, form: URLSearchParams): Promise<Response> {
    try {
      const response = readForm(found.request, form)
      const asked = response.status === 'accepted' ? await questions.passkey(found.id, response.value) : undefined
      const demanded = asked === undefined ? 'This answer needs no passkey.' : demandFor(asked, base.origin)
      return typeof demanded === 'string' ? refused(422, demanded) : Response.json(demanded)
    } catch (thrown) {
      if (thrown instanceof FormFault) return refused(422, thrown.message)
      throw thrown
    }
  }

  async function hook(request: Request): Promise<Response> {
    if (messages === undefined || request.method !== 'POST') return refused(404, 'Nothing is here.')
    const text = await bodyOf(request)
    const fault = messages.fault(request.headers, text, now())
    if (fault !== undefined) return refused(401, `The message does not count: ${fault}.`)
    const given = readHook(text)
    if (given === undefined) return refused(400, 'Send id, round, by and response as JSON.')
    const { id, round, by, response } = given
    try {
      return Response.json({ fate: await questions.answer(id, response, { by, way: 'webhook', round }) })
    } catch (thrown) {
      const status = STATUS[codeOf(thrown) ?? '']
      if (status === undefined) throw thrown
      return refused(status, (thrown as Error).message)
    }
  }

  return {
    callback: `${base.href}hook`,
    link: (linked) => `${base.href}q/${linkToken(secret, linked, now() + minutes * 60_000)}`,
    async fetch(request) {
      const url = new URL(request.url)
      if (!url.pathname.startsWith(base.pathname)) return undefined
      // A name of another site that resolves to this address.
      if (url.host !== base.host) return refused(421, 'This address is not served here.')
      const [kind, token = '', ...more] = url.pathname.slice(base.pathname.length).split('/')
      try {
        if (kind === 'hook' && token === '') return await hook(request)
        const isPage = kind === 'q' && more.length === 0 && /^(?:GET|HEAD|POST)$/.test(request.method)
        return isPage ? await question(request, token) : html(404, messagePage('Not found', 'Nothing is here.'))
      } catch (thrown) {
        if (thrown instanceof TooLong) return refused(413, 'The body is too long.')
        return html(503, messagePage('Not now', 'The questions cannot be read now. Try again later.'))
      }
    },
  }
}

/** The address of links and answers: people type nothing secret into an address that others can read. */
function readBase(text: string): URL {
  const url = URL.parse(text.endsWith('/') ? text : `${text}/`)
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isThisMachine(url))
  if (url && isSafe && url.username === '' && url.search === '' && url.hash === '') return url
  throw new Error(`"${text}" is no address for links. Use https, or http on this machine, such as https://ops.example/answers.`)
}

const FATES: Readonly<Record<string, string>> = {
  taken: 'The call goes on.', stored: 'The call goes on when a session resumes it.',
  unseen: 'The answer is stored. Its host has not confirmed it yet.',
}
const STATUS: Readonly<Record<string, number>> = { NotFound: 404, InteractionAlreadyAnswered: 409, InputInvalid: 422 }

const codeOf = (thrown: unknown): string | undefined => BulkheadError.is(thrown) ? thrown.code : undefined
const html = (status: number, text: string, script?: string): Response => new Response(text, { status, headers: pageHeaders(script) })
const refused = (status: number, error: string): Response => Response.json({ error }, { status })
const over = (): Response => html(410, messagePage('It does not wait any more', 'The question was answered or has ended, or the link is not valid.'))

/** Throws FormFault. */
function withPasskey(response: InteractionResponse, text: string): InteractionResponse {
  if (text === '' || response.status !== 'accepted') return response
  const parsed = parseJson(text)
  const passkey = parsed.ok ? readAssertion(parsed.value) : undefined
  if (passkey) return { ...response, passkey }
  throw new FormFault('The passkey cannot be read.')
}

class TooLong extends Error {}

async function bodyOf(request: Request): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > ANSWER_LIMITS.bodyBytes) throw new TooLong()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const MOST_NAME_CHARS = 200

interface HookAnswer extends Linked {
  readonly by: string
  readonly response: InteractionResponse
}

function readHook(text: string): HookAnswer | undefined {
  const parsed = parseJson(text)
  const { id, round, by, response } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  if (typeof id !== 'string' || typeof round !== 'number' || typeof by !== 'string' || by === '' || !isJsonObject(response)) return undefined
  // The book checks the response against the question.
  return { id, round, by: `${by.slice(0, MOST_NAME_CHARS)} by webhook`, response: response as unknown as InteractionResponse }
}
