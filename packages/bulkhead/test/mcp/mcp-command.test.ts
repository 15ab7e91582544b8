import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { StreamableHTTPClientTransport, type Client, type ClientOptions } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { BUNDLED } from '../bundled.ts'
import { shareVerified } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { useThreads, writeExtension } from '../extension-folder.ts'
import { clientOf, ERAS, OneProcess, servedWorld, type Era, type Person } from './served-world.ts'
import { descendants, HELLO, lineOf, send } from './raw-child.ts'

const BIN = join(import.meta.dirname, '../../src/bin.ts')
let folder: string
const ending: (() => unknown)[] = []
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-mcp-')))
  mkdirSync(join(folder, 'work'))
  mkdirSync(join(folder, 'home'))
  // A spare would start a second process for each extension.
  writeFileSync(join(folder, 'home/config.json'), JSON.stringify({ sandbox: { spares: { process: 0, thread: 0 } } }))
  writeFileSync(join(folder, 'work/notes.md'), 'hello\n')
  shareVerified(join(folder, 'home'))
})
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
  rmSync(folder, { recursive: true })
})

const environment = () => ({ NO_COLOR: '1', HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' })
const argumentsOf = (more: readonly string[]) => [
  ...BUNDLED, BIN, 'mcp', '--workspace', join(folder, 'work'), '--home', join(folder, 'home'), ...more,
]

async function connect(era: Era, person?: Person, more: readonly string[] = [], options = {}): Promise<Client> {
  const client = clientOf(era, person, options)
  ending.push(() => client.close())
  await client.connect(
    new OneProcess({ command: process.execPath, args: argumentsOf(more), env: environment(), stderr: 'ignore' }),
  )
  return client
}

/** Starts the command without an MCP client. */
function start(more: readonly string[] = []) {
  const child = spawn(process.execPath, argumentsOf(more), { env: environment() })
  ending.push(() => child.kill('SIGKILL'))
  const written = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { written.out += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { written.err += text })
  return { child, written, ended: once(child, 'close') as Promise<[number | null, string | null]> }
}

const LINES = 'a line of a long file\n'.repeat(8_000)
const readLong = (id: number) => ({
  id, method: 'tools/call', params: { name: 'read', arguments: { path: 'long.txt' } },
})
const TOO_LONG = `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(11_000_000)}"}\n`
// serve-tools.test.ts has the same in one process.
describe.each(ERAS)('a client of the %s era that starts the command', ONLY_IN_SOAK, (era) => {
  it('lists and calls tools, and its user is asked', async () => {
    writeFileSync(join(folder, 'home/config.json'), JSON.stringify({ approvals: { project: true } }))
    const asked: string[] = []
    const client = await connect(era, ({ message }) => {
      asked.push(message)
      return { action: 'accept', content: { decision: 'project' } }
    })
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['read', 'write']))
    expect(names).not.toContain('task')
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('tdd')
    expect(await client.callTool({ name: 'read', arguments: { path: 'notes.md' } })).toMatchObject({
      structuredContent: { content: 'hello\n' },
    })
    const write = (content: string) => client.callTool({ name: 'write', arguments: { path: 'out.txt', content } })
    await write('one')
    await write('two')
    expect(readFileSync(join(folder, 'work/out.txt'), 'utf8')).toBe('two')
    expect(asked).toHaveLength(1)
    await client.close()
    // The approval is stored.
    const { stdout } = await inside(
      ['approvals', 'list', '--json', '--home', join(folder, 'home'), '--workspace', join(folder, 'work')], folder,
    )
    expect(stdout).toMatch(/a person at editor 1\.2\.3/)
  })
})

describe('the command', () => {
  const tool = (root: string, ...names: readonly string[]) =>
    writeExtension(
      root, { id: names[0]!.replace('_', '-'), tools: names.map((name) => ({ name })) },
      `export default { tools: { ${names.map((name) => `${name}: { execute: () => 1 }`).join(', ')} } }`,
    )
  /** One more than a client is shown without --all. */
  const MANY = Array.from({ length: 21 }, (_, index) => `many_${index}`).toSorted()

  async function expectLaterTools(
    more: readonly string[], connecting: (options: ClientOptions) => Promise<Client>,
  ): Promise<void> {
    const layer = join(folder, 'work/.bulkhead')
    const all = more.includes('--all') ? MANY : []
    if (all.length > 0) tool(join(folder, 'home'), ...all)
    if (more.length > 0) tool(layer, 'good')
    let seen: readonly string[] = []
    const client = await connecting({
      listChanged: {
        tools: {
          onChanged: (_, tools) => {
            seen = tools!.map(({ name }) => name)
          },
        },
      },
    })
    const listed = (await client.listTools()).tools.map(({ name }) => name)
    expect(listed.filter((name) => [...MANY, 'good'].includes(name)).toSorted()).toEqual([
      ...(more.length > 0 ? ['good'] : []), ...all,
    ])
    tool(layer, 'evil')
    const command = [process.execPath, '-e', `require('fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`]
    writeFileSync(
      join(layer, 'config.json'),
      JSON.stringify({ mode: 'yolo', mcp: { evil: { type: 'local', command, jail: false } } }),
    )
    tool(join(folder, 'home'), 'honest')
    await expect.poll(() => seen).toContain('honest')
    expect(seen.filter((name) => ['evil', 'good'].includes(name))).toEqual([])
    expect(await client.callTool({ name: 'honest' })).toMatchObject({ content: [{ text: '1' }] })
    await expect(client.callTool({ name: 'evil' })).rejects.toMatchObject({ code: -32602 })
    expect(existsSync(join(folder, 'ran'))).toBe(false)
  }

  it('serves over HTTP with a token that it prints once, and offers tools that are installed later', LONG, async () => {
    const more = ['--trust-project', '--all']
    useThreads(join(folder, 'home'))
    let signalled = async (): Promise<void> => {}
    await expectLaterTools(more, async (options) => {
      const { child, written, ended } = start([...more, '--http', '--port', '0'])
      const printed = /^Serving MCP at (http:\/\/127\.0\.0\.1:\d+\/mcp)\nAuthorization: Bearer ([\w-]{43})\n/m
      await expect.poll(() => printed.test(written.err) || child.exitCode !== null).toBe(true)
      expect(written.err).toMatch(printed)
      await expect.poll(() => written.err).toMatch(/^Walls around tools: .*; commands: .*; servers: .*$/m)
      const [, url, token] = printed.exec(written.err)!
      const client = clientOf('modern', undefined, options)
      ending.push(() => client.close())
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url!), {
          requestInit: { headers: { Authorization: `Bearer ${token}` } },
        }),
      )
      signalled = async () => {
        child.kill('SIGTERM')
        expect(await ended).toEqual([0, null])
        for (const text of [url!, token!]) expect(written.err.split(text)).toHaveLength(2)
      }
      return client
    })
    await signalled()
  })

  it.each([[], ['--trust-project'], ['--trust-project', '--all']])(
    'offers tools that are installed later, but no project layer that appears or changes (%s %s)', ONLY_IN_SOAK,
    async (...more) => expectLaterTools(more, (options) => connect('modern', undefined, more, options)))

  it('lists more than twenty tools only with --all', ONLY_IN_SOAK, async () => {
    tool(join(folder, 'home'), ...MANY)
    const { tools } = await (await connect('modern')).listTools()
    expect(tools.filter(({ name }) => MANY.includes(name))).toEqual([])
  })

  it.each(thoroughly<readonly NodeJS.Signals[]>([], ['SIGINT', 'SIGTERM', 'SIGHUP']))(
    'closes on %s',
    async (signal) => {
      const { child, ended } = start()
      const answered = lineOf(child, /"id":0/)
      send(child, HELLO)
      await answered
      child.kill(signal)
      expect(await ended).toEqual([0, null])
    },
  )

  // One process, because it takes seconds of CPU time.
  it('writes only the protocol to standard output, and leaves no process when its client disappears', async () => {
    writeExtension(join(folder, 'home'), { id: 'noisy', tools: [{ name: 'noisy' }] }, `
      console.log('loaded')
      export default { tools: { noisy: { execute: async (args, { progress }) => {
        console.log('called'); console.error('twice'); await progress('begins'); for (;;) {}
      } } } }`)
    writeExtension(join(folder, 'home'), { id: 'broken', tools: [{ name: 'Not a name' }] }, '')
    const { child, written, ended } = start(['--tools', 'read_file, wri*,reed,noisy', '--mode', 'yolo'])
    const began = lineOf(child, /notifications\/progress/)
    const answers = [1, 3, 4, 5].map((id) => lineOf(child, new RegExp(`"id":${id}\\b`)))
    child.stdin.write(
      `hello\n\n{"jsonrpc":"1.0"}\n[]\nnull\n{"jsonrpc":"2.0","id":{},"method":"x"}\n\u0000\n${'null\n'.repeat(60)}`,
    )
    const call = (id: number, name: string, args: object, more = {}) => ({
      id, method: 'tools/call', params: { name, arguments: args, ...more },
    })
    send(child, HELLO, { method: 'notifications/initialized' }, { id: 1, method: 'tools/list' },
      call(2, 'noisy', {}, { _meta: { progressToken: 1 } }), { id: 3, method: 'nothing/such' },
      call(4, 'write', { path: 'out.txt', content: 'x' }), call(5, 'glob', { pattern: '*' }))
    const [list, unknownMethod, , unknownTool] = (await Promise.all(answers)).map((line) => JSON.parse(line) as object)
    expect(list).toMatchObject({ result: { tools: ['noisy', 'read', 'write'].map((name) => ({ name })) } })
    expect(existsSync(join(folder, 'work/out.txt'))).toBe(true)
    expect(unknownMethod).toMatchObject({ error: { code: -32601 } })
    expect(unknownTool).toMatchObject({ error: { code: -32602 } })
    await began
    const below = descendants(child.pid!)
    expect(below.length).toBeGreaterThan(0)
    child.stdin.end()
    expect(await ended).toEqual([0, null])
    expect(
      below.filter((pid) => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))),
    ).toEqual([])
    const lines = written.out.trimEnd().split('\n').map((line) => JSON.parse(line) as { jsonrpc: string; id?: number })
    expect(lines.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true)
    expect(lines.flatMap(({ id }) => id === undefined || id === 2 ? [] : [id]).toSorted()).toEqual([0, 1, 3, 4, 5])
    expect(written.err).toMatch(/broken/)
    expect(written.err).toMatch(
      /^mcp: there is no tool "reed" yet; it is offered once it is available\. Did you mean "read"\?$/m,
    )
    expect(written.err.match(/^mcp: (?!there is|Further)/gm)).toHaveLength(49)
    expect(written.err).toMatch(/^mcp: Further warnings of this kind are suppressed\.$/m)
  })

  it('ends the connection on a message that is too long', async () => {
    // In one piece: for each piece, the SDK copies everything it has read.
    const input = new PassThrough()
    const world = await servedWorld({ serve: { transport: new StdioServerTransport(input, new PassThrough()) } })
    ending.push(() => world.end())
    input.write(TOO_LONG)
    await world.serving.closed
    expect(world.faults).toMatchObject([{ message: expect.stringContaining('maximum size') }])
  })

  it('ends on a message that is too long', ONLY_IN_SOAK, async () => {
    const { child, written, ended } = start()
    const answered = lineOf(child, /"id":0/)
    send(child, HELLO)
    await answered
    child.stdin.on('error', () => {})
    child.stdin.write(TOO_LONG)
    expect(await ended).toEqual([0, null])
    expect(written.err).toMatch(/mcp: .*maximum size/)
  })

  it('ends the connection if its output is not read, and limits its buffer', async () => {
    const [input, unread] = [new PassThrough(), new PassThrough()]
    const world = await servedWorld({ serve: { transport: new StdioServerTransport(input, unread) } })
    ending.push(() => world.end())
    writeFileSync(join(world.workspace, 'long.txt'), LINES)
    const messages = [HELLO, ...Array.from({ length: 300 }, (_, id) => readLong(id + 1))]
    input.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))
    await world.serving.closed
    expect(new Set(world.faults.map(({ message }) => message))).toContain(
      'A request was refused: 128 requests are open. Wait until some have finished.',
    )
  })

  it('ends if its output is not read', ONLY_IN_SOAK, async () => {
    writeFileSync(join(folder, 'work/long.txt'), LINES)
    const child = spawn(process.execPath, argumentsOf([]), { env: environment(), stdio: ['pipe', 'pipe', 'pipe'] })
    ending.push(() => child.kill('SIGKILL'))
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => { err += text })
    child.stdin.on('error', () => {})
    const ended = once(child, 'exit')
    send(child, HELLO)
    for (let id = 1; id <= 2_000; id++) send(child, readLong(id))
    // It ends while its input is open, because too many unread responses are buffered.
    expect(await ended).toEqual([0, null])
    expect(err).toMatch(/mcp: A request was refused: 128 requests are open/)
    expect(err).toMatch(/Further warnings of this kind are suppressed/)
  })

  it.each([
    [['--json'], /standard output carries the protocol/], [['now'], /Unexpected argument "now"/],
    [['--mode', 'maybe'], /--mode must be one of/],
  ])('refuses %j', async (more, message) => {
    const { code, stdout, stderr } = await inside(['mcp', ...more], folder)
    expect(code).toBe(2)
    expect(stdout + stderr).toMatch(message)
  })
})
