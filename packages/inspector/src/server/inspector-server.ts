import { randomUUID } from 'node:crypto'
import type { About, CallItem, Topic } from '../protocol.ts'
import { flag, optionalObject, optionalText, readBody, text } from './access/body.ts'
import { guarded, requireOwnSite } from './access/guard.ts'
import { SignInDesk } from './access/sign-in.ts'
import { Capture } from './calls/capture.ts'
import { readQuery } from './calls/call-query.ts'
import { CallsViews } from './calls/calls-view.ts'
import { madeCall } from './calls/made-call.ts'
import { LiveCalls } from './calls/live-calls.ts'
import { CallSeries } from './calls/series.ts'
import { Hub } from './events/hub.ts'
import { faultResponse, RequestFault } from './fault.ts'
import type { Inspected } from './inspected.ts'
import { PageFiles } from './page-files.ts'
import { Inbox } from './waiting/inbox.ts'

export interface InspectorServerOptions {
  /** Whether clients may answer, switch tools and capture. Default: false, they only read. */
  readonly decide?: boolean
  /** Where it is mounted, such as `/inspector`. Default: at the root. */
  readonly base?: string
  /** Where it is reached besides loopback, such as `https://ops.example`. */
  readonly origins?: readonly string[]
  /** Who answers, for the list of approvals. */
  readonly by?: string
  /** How a person gets a fresh link. */
  readonly linkCommand?: string
  /** The files of the page by their paths. */
  readonly page: () => Promise<Readonly<Record<string, string>>>
  /** Contract: must not throw. */
  readonly onFault?: (error: unknown) => void
}

export interface InspectorServer {
  /** Contract: never rejects. */
  fetch(request: Request): Promise<Response>
  /** A fresh token for `#TOKEN`. It works once, for five minutes. */
  token(): string
  /** Ends every connection and every key. Idempotent. */
  close(): void
}

const READ_ONLY = 'The inspector only reads. Start it with --decide to answer.'
const FAILED: ReadonlySet<CallItem['state']> = new Set(['failed', 'cancelled', 'denied'])

type Answer = object | Response

/** Serves the page and the protocol of the inspector. */
export function createInspectorServer(inspected: Inspected, options: InspectorServerOptions): InspectorServer {
  const { decide = false, base = '', origins = [], by = 'the inspector', linkCommand = 'bulkhead inspect --link', page } = options
  const { onFault = () => undefined } = options
  const desk = new SignInDesk()
  const series = new CallSeries()
  const live = new LiveCalls(inspected, ({ item: { state, ms = 0, waitedMs = 0 } }) => series.add(FAILED.has(state), ms - waitedMs))
  const capture = new Capture(inspected)
  const calls = new CallsViews(inspected, live, capture)
  const inbox = new Inbox(inspected.questions, { readOnly: decide ? undefined : READ_ONLY, by, now: Date.now })
  const server = randomUUID()
  const files = new PageFiles(page)
  const about = (): About => ({
    protocol: 1, version: inspected.version, server, scope: inspected.scope, decide, workspace: inspected.workspace(),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, now: Date.now(), linkCommand,
  })
  const hub = new Hub({ inspected, live, inbox, series, about, onFault })
  let isClosed = false

  const requireDecide = (): void => {
    if (!decide) throw new RequestFault('ReadOnly', READ_ONLY)
  }

  async function read([view, ...rest]: readonly string[], { searchParams }: URL): Promise<Answer | undefined> {
    const [first = '', second = ''] = rest
    switch (`${view}/${rest.length}`) {
      case 'about/0': return about()
      case 'waiting/0': return inbox.view()
      case 'calls/0': return calls.list(readQuery(searchParams))
      case 'calls/2': return calls.detail(first, second)
      case 'calls/3': {
        if (rest[2] !== 'export') return undefined
        const headers = { 'content-disposition': 'attachment; filename="call.json"' }
        return Response.json(await calls.export(first, second), { headers })
      }
      case 'tools/0': return inspected.tools(searchParams.get('session') ?? undefined)
      case 'tools/1': return inspected.toolInput(first)
      case 'policy/0': return inspected.policy()
      case 'health/0': return { at: Date.now(), ...await inspected.health(), series: series.view() }
      case 'events/0': return events(searchParams)
      default: return undefined
    }
  }

  function events(params: URLSearchParams): Response {
    const topics = new Set((params.get('topics') ?? '').split(',').filter((topic) => topic !== '').map(readTopic))
    return new Response(hub.subscribe(topics).stream, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }

  async function write([view, ...rest]: readonly string[], request: Request): Promise<Answer | undefined> {
    const [first = ''] = rest
    switch (`${view}/${rest.length}`) {
      case 'waiting/1': return inbox.decide(first, await readBody(request), pageOf(request))
      case 'waiting/2': return rest[1] === 'passkey' ? inbox.passkey(first, await readBody(request), pageOf(request)) : undefined
      case 'calls/0':
        requireDecide()
        return madeCall(inspected, await readBody(request))
      case 'capture/0': {
        requireDecide()
        const state = capture.switch(flag(await readBody(request), 'on'))
        hub.send({ type: 'changed', what: 'capture', capture: state })
        return state
      }
      case 'tools/1': {
        requireDecide()
        const body = await readBody(request)
        const session = text(body, 'session')
        await inspected.switchTool(session, first, flag(body, 'on'))
        hub.send({ type: 'changed', what: 'tools' })
        return inspected.tools(session)
      }
      case 'install-preview/0':
        // It reads files and asks registries.
        requireDecide()
        return inspected.previewInstall(text(await readBody(request), 'source'))
      case 'policy/1': {
        if (first !== 'try') return undefined
        const body = await readBody(request)
        const session = optionalText(body, 'session')
        return inspected.tryCall({
          tool: text(body, 'tool'), arguments: optionalObject(body, 'arguments') ?? {}, ...(session !== undefined && { session }),
        })
      }
      default: return undefined
    }
  }

  async function api(path: readonly string[], request: Request, url: URL): Promise<Response> {
    if (path.length === 1 && path[0] === 'sign-in') {
      requireMethod(request, 'POST')
      return Response.json({ key: desk.exchange(text(await readBody(request), 'token')), about: about() })
    }
    desk.require(request.headers.get('authorization'))
    requireMethod(request, 'GET', 'POST')
    const found = request.method === 'GET' ? await read(path, url) : await write(path, request)
    if (found === undefined) throw new RequestFault('NotFound', `There is no ${request.method} of ${url.pathname}.`)
    return found instanceof Response ? found : Response.json(found)
  }

  async function answer(request: Request): Promise<Response> {
    if (isClosed) throw new RequestFault('Failed', 'The inspector is closed.')
    requireOwnSite(request, origins)
    const url = new URL(request.url)
    // Assets are found relative to the page, which must end with a slash.
    if (base !== '' && url.pathname === base) return new Response(null, { status: 308, headers: { location: `${base}/` } })
    if (!url.pathname.startsWith(`${base}/`)) throw new RequestFault('NotFound', `There is nothing at ${url.pathname}.`)
    const path = url.pathname.slice(base.length + 1)
    if (path.startsWith('api/')) return api(path.slice(4).split('/').map(decoded), request, url)
    requireMethod(request, 'GET', 'HEAD')
    return files.answer(path, request)
  }

  return {
    fetch: async (request) => guarded(await answer(request).catch((error: unknown) => {
      if (!(error instanceof RequestFault)) onFault(error)
      return faultResponse(error)
    })),
    token: () => desk.token(),
    close() {
      if (isClosed) return
      isClosed = true
      hub.close()
      capture.switch(false)
      live.stop()
    },
  }
}

/** Browsers send it with each POST. `requireOwnSite` has compared it. */
const pageOf = ({ headers, url }: Request): string => headers.get('origin') ?? new URL(url).origin

function requireMethod({ method }: Request, ...methods: readonly string[]): void {
  if (!methods.includes(method)) throw new RequestFault('MethodNotAllowed', `Use ${methods.join(' or ')}.`)
}

function readTopic(topic: string): Topic {
  if (topic === 'waiting' || topic === 'calls' || topic === 'health' || /^frames:.{1,200}$/.test(topic)) return topic as Topic
  throw new RequestFault('InputInvalid', 'A topic is waiting, calls, health or frames:SERVER.')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new RequestFault('InputInvalid', 'The path has a wrong escape.')
  }
}
