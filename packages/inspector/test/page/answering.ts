import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pageCode } from '../../src/bundle/page-code.ts'
import type { About, CallDetail, CallItem, Decision, InspectorEvent, WaitingItem } from '../../src/protocol.ts'
import { ABOUT, HEALTH, POLICY, TOOLS, TRIED } from './samples.ts'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml',
}
/** As strict as a page can have it. */
const CSP = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
].join('; ')

/** A server that speaks the protocol, over HTTP on loopback, with what a test puts into it. */
export class Answering {
  about: About = ABOUT
  token = 'first-token'
  calls: CallItem[] = []
  details = new Map<string, CallDetail>()
  capture = { on: false, limit: 50, kept: 0 }
  readonly taken: { readonly id: string; readonly decision: Decision }[] = []
  readonly failures: string[] = []
  readonly #waiting = new Map<string, WaitingItem>()
  readonly #streams = new Map<ServerResponse, readonly string[]>()
  #key = 'key-1'
  #server = createServer((asked, answer) => void this.#answer(asked, answer))
  #port = 0

  async listen(): Promise<this> {
    this.#server = createServer((asked, answer) => void this.#answer(asked, answer).catch((error: unknown) => {
      this.failures.push(String(error))
      answer.destroy()
    }))
    await new Promise<void>((done) => this.#server.listen(this.#port, '127.0.0.1', done))
    this.#port = (this.#server.address() as AddressInfo).port
    return this
  }

  get address(): string { return `http://localhost:${this.#port}/` }
  get link(): string { return `${this.address}#${this.token}` }

  /** As a process that ends. */
  async stop(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done))
    this.#server.closeAllConnections()
    this.#streams.clear()
    await closed
  }

  /** Keys of the server before are void. */
  async restart(): Promise<void> {
    this.#key = `${this.#key}+`
    await this.listen()
  }

  ask(...items: readonly WaitingItem[]): void {
    for (const item of items) this.#waiting.set(item.id, item)
    this.send({ type: 'waiting', view: this.#view() })
  }

  settle(id: string): void {
    this.#waiting.delete(id)
    this.send({ type: 'waiting', view: this.#view() })
  }

  begin(...items: readonly CallItem[]): void {
    this.calls = [...this.calls.filter(({ id }) => !items.some((one) => one.id === id)), ...items]
    this.send({ type: 'calls', items })
  }

  send(event: InspectorEvent): void {
    const isForAll = ['hello', 'changed', 'resync', 'frames'].includes(event.type)
    for (const [stream, topics] of this.#streams) {
      if (isForAll || topics.includes(event.type)) stream.write(framed(event))
    }
  }

  get streams(): number { return this.#streams.size }
  #view = () => ({ items: [...this.#waiting.values()].toSorted((a, b) => a.since - b.since), more: 0 })

  async #answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(asked.url!, this.address)
    if (!pathname.startsWith('/api/')) return await this.#file(pathname.slice(1), answer)
    const path = pathname.slice('/api/'.length)
    const body = asked.method === 'POST' ? JSON.parse(await text(asked)) as never : undefined
    if (path === 'sign-in') return this.#signIn(body!, answer)
    if (asked.headers.authorization !== `Bearer ${this.#key}`) return fail(answer, 401, 'SignInNeeded', 'No key.')
    if (path === 'events') return this.#stream(searchParams.get('topics')!.split(','), answer)
    const found = this.#data(path, searchParams, body)
    if (found === undefined) return fail(answer, 404, 'NotFound', 'There is no such call, or no longer.')
    json(answer, 200, found)
  }

  async #file(path: string, answer: ServerResponse): Promise<void> {
    const file = (await pageCode())[path || 'index.html']
    if (file === undefined) return void answer.writeHead(404).end()
    const type = TYPES[/\w+$/.exec(path)?.[0] ?? 'html']
    answer.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': CSP }).end(file)
  }

  #signIn({ token }: { token: string }, answer: ServerResponse): void {
    if (token !== this.token) return fail(answer, 401, 'TokenInvalid', 'The token was used, is old or wrong.')
    this.token = `${token}+`
    json(answer, 200, { key: this.#key, about: { ...this.about, now: Date.now() } })
  }

  #stream(topics: readonly string[], answer: ServerResponse): void {
    answer.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    this.#streams.set(answer, topics)
    answer.once('close', () => this.#streams.delete(answer))
    const write = (event: InspectorEvent): boolean => answer.write(framed(event))
    write({ type: 'hello', server: this.about.server, now: Date.now() })
    write({ type: 'waiting', view: this.#view() })
    if (topics.includes('health')) write({ type: 'health', view: HEALTH() })
  }

  #data(path: string, query: URLSearchParams, body: unknown): object | undefined {
    const [first, ...rest] = path.split('/')
    switch (first) {
      case 'about': return this.about
      case 'calls': return rest.length === 0 ? this.#list(query) : this.#detail(rest)
      case 'waiting': return this.#take(decodeURIComponent(rest[0]!), body as Decision)
      case 'capture':
        this.capture = { ...this.capture, ...body as object }
        return this.capture
      case 'tools': return TOOLS
      case 'policy': return rest[0] === 'try' ? TRIED : POLICY
      default: return undefined
    }
  }

  #list(query: URLSearchParams): object {
    const wanted = (item: CallItem) => (query.get('failed') === null || ['failed', 'denied'].includes(item.state))
      && [['tool', item.tool], ['session', item.session]]
        .every(([name, value]) => (query.get(name!) ?? value) === value)
      && JSON.stringify(item).includes(query.get('text') ?? '')
    return {
      items: this.calls.filter(wanted).toReversed().slice(0, 200), reach: 'since this host started',
      capture: this.capture,
      sessions: [...new Set(this.calls.map(({ session }) => session))]
        .map((id) => ({ id, host: 'h', workspace: '/w', open: true, since: 0 })),
      tools: [...new Set(this.calls.map(({ tool }) => tool))],
    }
  }

  #detail([session, call, more]: readonly string[]): object | undefined {
    const detail = this.details.get(`${session}/${call}`)
    return more === 'export' && detail ? { format: 'bulkhead-call/1', ...detail } : detail
  }

  #take(id: string, decision: Decision): object | undefined {
    const item = this.#waiting.get(id)
    if (item === undefined || item.digest !== decision.digest) return undefined
    this.taken.push({ id, decision })
    if (decision.do === 'later') this.ask({ ...item, laterUntil: Date.now() + 900_000 })
    else this.settle(id)
    return { words: decision.do === 'allow' ? 'The call runs.' : 'Done.' }
  }
}

const framed = ({ type, ...data }: InspectorEvent): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
const json = (answer: ServerResponse, status: number, value: object): void =>
  void answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
const fail = (answer: ServerResponse, status: number, code: string, message: string): void =>
  json(answer, status, { error: { code, message } })
