import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CompartmentSession } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG, ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { serve, type Loopback } from '../../../broker/test/net/loopback.ts'
import { invocation, newSandbox, refusal, REMOTE, requestOf, temporaryFolder, toolOf } from '../fixture.ts'
import { readTable, renderTable } from '../../soak/libraries/table.ts'
import { bundle } from './bundle.ts'

const FILES = { fs: { read: ['{workspace}/**'], write: ['{workspace}/out/**'] } }
const GIT = {
  shell: [['status'], ['add'], ['-c', 'core.abbrev=40', 'commit'], ['log'], ['show']].map((args) =>
    ({ cmd: 'git', args: [...args, { rest: true }] })),
}

interface Library {
  /** What its tool declares. */
  readonly requires: (server: Loopback) => object
  readonly args?: (server: Loopback) => JsonObject
  readonly returns: Json
  /** The capability that its message names when nothing is declared. */
  readonly needs: string
}

const online = { requires: ({ place }: Loopback) => ({ net: { hosts: [place] } }), needs: '`net`' }
const base = ({ base: url }: Loopback): JsonObject => ({ base: url })

const LIBRARIES: Readonly<Record<string, Library>> = {
  'axios': {
    ...online, args: base,
    returns: {
      status: 200, method: 'POST', url: '/echo?page=2', body: '{"name":"crow"}', type: 'application/json', missing: 404,
    },
  },
  'simple-git': {
    requires: () => GIT, needs: '`fs`', args: () => ({ message: 'second' }),
    returns: {
      current: 'main', modified: ['a.txt'], total: 2, latest: 'second',
      error: expect.stringContaining('missing') as never,
    },
  },
  'load-json-file': { requires: () => FILES, needs: '`fs`', returns: { data: { a: 1 }, missing: 'ENOENT' } },
  'parsers': {
    requires: () => FILES, needs: '`fs`',
    returns: {
      title: 'Birds', rows: [{ name: 'crow', count: '3' }], config: { deep: { list: [1, 2] } },
      written: 'links: 2\nrows: 1\ndeep:\n  list:\n    - 1\n    - 2\n',
    },
  },
  'ky': { ...online, args: base, returns: { flaky: { ok: true }, isForm: true, missing: 'HTTPError' } },
  'openai': { ...online, args: base, returns: { answer: 'Hi', streamed: 'Hi there' } },
  'octokit': { ...online, args: base, returns: { titles: ['first', 'second'], error: 404 } },
  'graphql-request': { ...online, args: base, returns: { bird: { name: 'crow 7' } } },
}

const services = { env: new Map([['OPENAI_API_KEY', 'key-1']]), envDeclared: new Set(['OPENAI_API_KEY']) }

/** Three in `npm test`, all in `pnpm soak`. */
const names = Object.keys(LIBRARIES).slice(0, thoroughly(3, Infinity))

describe.each(REMOTE.slice(0, thoroughly(1, 2)))('libraries from npm in a %s', (placement) => {
  const work = async (together: readonly string[]): Promise<void> => {
    const [server, workspace] = [await serve(answer), await repository()]
    const source = await bundle(together)
    const tools = together.map((name) => toolOf(name, LIBRARIES[name]!.requires(server) as JsonObject, workspace))
    const session = await newSandbox(workspace).open(requestOf({ placement, source, tools, services }))
    for (const name of together) {
      const { args, returns } = LIBRARIES[name]!
      expect(await callTool(session, name, args?.(server)), name).toEqual(returns)
    }
  }

  it('work together, each with what its tool declares', { ...needs('git'), ...LONG }, () => work(names))

  it.each(names)('work alone: %s', { ...needs('git'), ...ONLY_IN_SOAK }, (name) => work([name]))
})

describe('a library whose tool declares nothing', ONLY_IN_SOAK, () => {
  it.each(names)('fails with what to declare: %s', async (name) => {
    const { needs: wanted, args } = LIBRARIES[name]!
    const opening = newSandbox().open(requestOf({
      placement: 'process', source: await bundle([name]), tools: [toolOf(name)], services,
    }))
    const used = opening.then((session) => callTool(session, name, args?.({ base: 'http://127.0.0.1:1' } as Loopback)))
    const { message, cause } = await refusal(used)
    expect(`${message} ${String((cause as Error | undefined)?.cause)}`).toContain(wanted)
  })
})

it('the guide has the table of libraries that `pnpm soak` runs', async () => {
  expect(await readTable()).toBe(renderTable())
})

const callTool = (session: CompartmentSession, tool: string, args: JsonObject = {}): Promise<Json> =>
  session.call(invocation(args, { tool }))

/** A workspace with files, and one commit before the last change. */
async function repository(): Promise<string> {
  const folder = await temporaryFolder()
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: folder, stdio: 'ignore' })
  await writeFile(join(folder, 'a.txt'), 'one')
  git('init', '-b', 'main')
  git('config', 'user.email', 'a@example.com')
  git('config', 'user.name', 'A')
  git('add', '.')
  git('commit', '-m', 'first')
  await writeFile(join(folder, 'a.txt'), 'two')
  await writeFile(join(folder, '.git', 'info', 'exclude'), '*.html\n*.csv\n*.yaml\n*.json\nout\n')
  await mkdir(join(folder, 'out'))
  await writeFile(join(folder, 'page.html'), '<h1>Birds</h1><a href="/x">x</a><a href="/y">y</a>')
  await writeFile(join(folder, 'rows.csv'), 'name,count\ncrow,3\n')
  await writeFile(join(folder, 'config.yaml'), 'deep:\n  list: [1, 2]\n')
  await writeFile(join(folder, 'data.json'), '{"a":1}')
  return folder
}

let flaky = 0

/** Answers as the services of these libraries do. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
  const json = (value: unknown, status = 200, headers = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
  }
  void text(request).then((body) => {
    if (pathname === '/echo') return json({ method: request.method, url: request.url, body })
    if (pathname === '/flaky') return json({ ok: flaky++ % 2 === 1 }, flaky % 2 === 1 ? 503 : 200)
    if (pathname === '/graphql') {
      const { variables } = JSON.parse(body) as { variables: { id: string } }
      return json({ data: { bird: { name: `crow ${variables.id}` } } })
    }
    if (pathname === '/v1/chat/completions' && request.headers.authorization === 'Bearer key-1') {
      const { stream } = JSON.parse(body) as { stream?: boolean }
      const choice = (content: string): object =>
        ({ choices: [{ index: 0, delta: { content }, message: { content } }] })
      if (stream !== true) return json(choice('Hi'))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return response.end(['Hi', ' there'].map((part) => `data: ${JSON.stringify(choice(part))}\n\n`).join('')
        + 'data: [DONE]\n\n')
    }
    if (pathname === '/repos/o/r/issues') {
      const isFirst = searchParams.get('page') !== '2'
      const next = `<http://${request.headers.host}${pathname}?per_page=1&page=2>; rel="next"`
      return json([{ title: isFirst ? 'first' : 'second' }], 200, isFirst ? { link: next } : {})
    }
    return json({ message: 'Not Found' }, 404)
  })
}
