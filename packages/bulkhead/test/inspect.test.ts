import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { inside } from './command-inside.ts'

const INDEX = `import { defineExtension, defineTool } from '@bulkhead/contract/author'

interface Doubled { readonly doubled: number }

const double = defineTool({
  description: 'Doubles a number.', approvalKey: '{n}', mode: 'read',
  input: { type: 'object', required: ['n'], properties: { n: { type: 'number' } }, additionalProperties: false },
  execute({ n }): Doubled {
    const doubled = n * 2
    if (doubled < 0) throw new RangeError('too small')
    return { doubled }
  },
})

export default defineExtension({ tools: { double } })
`

interface Params {
  readonly url?: string
  readonly scriptId?: string
  readonly sourceMapURL?: string
  readonly callFrames?: readonly { readonly callFrameId: string; readonly location: { readonly lineNumber: number } }[]
}

/** A client of the protocol that debuggers speak. */
class Debugger {
  readonly #socket: WebSocket
  readonly #open = new Map<number, (result: never) => void>()
  readonly #events: { readonly method: string; readonly params: Params }[] = []
  #last = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const { id, result, method, params } = JSON.parse(String(data)) as {
        id?: number
        result: never
        method: string
        params: Params
      }
      if (id === undefined) this.#events.push({ method, params })
      else this.#open.get(id)!(result)
    })
  }

  static async connect(address: string): Promise<Debugger> {
    const socket = new WebSocket(address)
    const opened = new Debugger(socket)
    await new Promise((done, failed) => {
      socket.addEventListener('open', done)
      socket.addEventListener('error', failed)
    })
    return opened
  }

  send<Result>(method: string, params: object = {}): Promise<Result> {
    const id = ++this.#last
    this.#socket.send(JSON.stringify({ id, method, params }))
    return new Promise((done) => void this.#open.set(id, done))
  }

  event(method: string, wanted: (params: Params) => boolean = () => true): Promise<Params> {
    return expect
      .poll(() => this.#events.find((one) => one.method === method && wanted(one.params))?.params, { timeout: 50_000 })
      .toBeDefined()
      .then(() => this.#events.find((one) => one.method === method && wanted(one.params))!.params)
  }

  close(): void {
    this.#socket.close()
  }
}

it('stops at a breakpoint in the written file, and says what is different', { tags: ['walls', 'long'] }, async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-inspect-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'tool'))
  writeFileSync(join(folder, 'tool/package.json'), JSON.stringify({ name: 'double', version: '1.0.0', type: 'module' }))
  writeFileSync(join(folder, 'tool/index.ts'), INDEX)

  const address = Promise.withResolvers<string>()
  let said = ''
  const seen: unknown[] = []
  async function* lines(): AsyncGenerator<string> {
    const client = await Debugger.connect(await address.promise)
    await client.send('Runtime.enable')
    await client.send('Debugger.enable')
    const { sourceMapURL, scriptId } = await client.event(
      'Debugger.scriptParsed', ({ url }) => url === 'tool://double/index.js',
    )
    const map = JSON.parse(Buffer.from(sourceMapURL!.split(',')[1]!, 'base64').toString()) as {
      sources: string[]
      sourcesContent: string[]
    }
    expect(map).toMatchObject({ sources: [pathToFileURL(join(folder, 'tool/index.ts')).href], sourcesContent: [INDEX] })
    const { result } = await client.send<{ result: { value: unknown } }>('Runtime.evaluate', {
      expression: 'typeof process.getBuiltinModule',
    })
    expect(result.value).toBe('undefined')
    const { scriptSource } = await client.send<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId })
    const lineNumber = scriptSource.split('\n').findIndex((line) => line.includes('n * 2'))
    await client.send('Debugger.setBreakpointByUrl', { url: 'tool://double/index.js', lineNumber })
    yield 'double {"n": 21}\n'
    const { callFrames } = await client.event('Debugger.paused')
    const [{ callFrameId, location }] = callFrames! as [NonNullable<Params['callFrames']>[number]]
    const value = await client.send<{ result: { value: unknown } }>('Debugger.evaluateOnCallFrame', {
      callFrameId, expression: 'n',
    })
    seen.push(location.lineNumber === lineNumber, value.result.value)
    await client.send('Debugger.disable')
    client.close()
    yield 'double {"n": -1}\n.exit\n'
  }
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', { value: Readable.from(lines()), configurable: true })
  try {
    const { code, stdout } = await inside(
      ['dev', './tool', '--inspect', '--mode', 'yolo', '--no-store'], folder, {},
      (text) => {
        said += text
        const found = /^Debugger listening on (ws:\S+)$/m.exec(said)?.[1]
        if (found !== undefined) address.resolve(found)
      },
    )
    expect({ code, result: JSON.parse(stdout) as unknown, seen }).toEqual({
      code: 0, result: { doubled: 42 }, seen: [true, 21],
    })
  } finally {
    Object.defineProperty(process, 'stdin', stdin)
  }
  expect(said).toMatch(/^ToolExecutionFailed too small\n {4}at Object\.execute \(tool\/index\.ts:10:\d+\)$/m)
  expect(said).toMatch(
    /^The tool runs with a debugger: .* without a system call filter\. .*Installed tools run as always\.$/m,
  )
  expect(said).not.toContain('Walls around')
})
