import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { text } from 'node:stream/consumers'
import { compileGrant, DEFAULT_LIMITS } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { bundleModule } from '../../../bulkhead/src/facade/bundling/bundle.ts'
import { BundledFiles } from '../../../loader/src/pack/bundled-files.ts'
import type { PooledSandbox } from '../../src/index.ts'
import type { Library } from './library.ts'

/** What a library did: nothing wrong, or how it differs from the table. */
export type Verdict = { readonly name: string; readonly fault?: string }

/** The server on loopback that stands for the services of all libraries. */
export interface Services {
  readonly base: string
  readonly place: string
  close(): void
}

export async function serveAll(): Promise<Services> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { place, base: `http://${place}`, close: () => void server.close().closeAllConnections() }
}

const objects = new Map<string, string>()

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url!, 'http://localhost')
  const body = await text(request)
  const json = (value: unknown, status = 200): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (pathname === '/echo') return json({ method: request.method, body })
  if (pathname === '/v1/messages') return json({ content: [{ type: 'text', text: 'Hello' }] })
  if (pathname === '/v1/pages/p1') return json({ object: 'page', id: 'p1' })
  if (pathname === '/repos/o/r/issues') return json([{ title: 'first' }])
  if (pathname === '/slack/chat.postMessage') return json({ ok: true, ts: '1.2' })
  if (pathname === '/drive/v3/files') return json({ files: [{ name: 'crow.txt' }] })
  if (pathname === '/v1/customers') return json({ id: 'cus_1' })
  if (pathname === '/v1/chat/completions') {
    const parts = ['Hi', ' there'].map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return void response.end(`${parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join('')}data: [DONE]\n\n`)
  }
  if (pathname.startsWith('/birds/')) {
    // The client sends it in chunks with checksums.
    if (request.method === 'PUT') objects.set(pathname, body.includes('black') ? 'black' : body)
    return void response.writeHead(200, { 'content-type': 'text/plain' }).end(objects.get(pathname))
  }
  return json({ message: 'Not Found' }, 404)
}

/** A workspace for the tools. */
export async function fillWorkspace(folder: string): Promise<void> {
  await mkdir(join(folder, 'out'), { recursive: true })
  await writeFile(join(folder, 'vars.txt'), 'LEVEL=high')
}

export interface Place {
  /** Where the packages are installed. */
  readonly folder: string
  readonly workspace: string
  readonly sandbox: PooledSandbox
  readonly services: Services
}

/** Bundles a tool with the library as `bulkhead pack` does, and calls it. */
export async function tryLibrary(library: Library, place: Place): Promise<Verdict> {
  const { name, returns, fails } = library
  const outcome = await use(library, place)
    .then((value) => ({ value }), (error: unknown) => ({ error: wordsOf(error) }))
  if (fails !== undefined) {
    const words = 'error' in outcome ? outcome.error : `it returned ${JSON.stringify(outcome.value)}`
    return fails.message.every((part) => words.includes(part)) ? { name } : { name, fault: words }
  }
  if ('error' in outcome) return { name, fault: outcome.error }
  if (isDeepStrictEqual(outcome.value, returns)) return { name }
  return { name, fault: `returned ${JSON.stringify(outcome.value)}` }
}

async function use(library: Library, { folder, workspace, sandbox, services }: Place): Promise<Json> {
  const { name, imports, body, requires = {} } = library
  const main = `${name.replaceAll(/\W+/g, '-')}.tool.js`
  await writeFile(join(folder, main), `${imports}
export default { tools: { run: { async execute({ base }) { ${body} } } } }
`)
  const { code: source, origins } = await bundleModule(main, new BundledFiles(folder, undefined))
  const wanted = JSON.parse(JSON.stringify(requires).replaceAll('$place', services.place)) as JsonObject
  const session = await sandbox.open({
    extension: { id: 'library', version: '1.0.0', layer: 'global' },
    placement: 'process',
    code: { kind: 'files', main: `./${main}`, files: new Map([[main, Buffer.from(source)]]), origins },
    tools: [{
      name: 'run', requires: wanted, inputSchema: { type: 'object' },
      grant: compileGrant(requirementSet.parse(wanted), { workspace: [workspace] }),
    }],
    config: {},
    limits: DEFAULT_LIMITS,
    services: { log: () => undefined, env: new Map(), envDeclared: new Set() },
  })
  try {
    const signal = AbortSignal.timeout(CALL_MS)
    return await session.call({ callId: name, tool: 'run', args: { base: services.base }, signal })
  } finally {
    await session.close()
  }
}

const CALL_MS = 60_000

/** The message with its causes, on one line. */
function wordsOf(error: unknown): string {
  const { message, cause } = error as Error
  return [message, ...(cause === undefined ? [] : [wordsOf(cause)])].join(' | ').replaceAll(/\s+/g, ' ')
}
