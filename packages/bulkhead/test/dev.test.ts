import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { ToolManifest } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { complete } from '../src/cli/calls/dev-completion.ts'
import { BUNDLED } from './bundled.ts'
import { inside } from './command-inside.ts'
import { NO_NPM } from './no-npm.ts'
import { writeExtension } from './extension-folder.ts'
import { KEYS, PseudoTerminal } from './terminal/pseudo-terminal.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-dev-'))) })
afterEach(() => rmSync(folder, { recursive: true }))

const inputSchema = {
  type: 'object', additionalProperties: false,
  properties: { path: { type: 'string' }, unit: { enum: ['lines', 'words'] }, fast: { type: 'boolean' } },
} as const

const module = (prefix: string) => `export default { tools: { show: { async execute({ path = 'a.md' }, runtime) {
  runtime.log.warn('reading')
  const text = '${prefix} ' + await runtime.fs.readText(path)
  await runtime.fs.write('out.md', text)
  return text
} } } }`

function writeTool(): string {
  writeFileSync(join(folder, 'a.md'), 'text')
  return writeExtension(
    folder,
    {
      id: 'show',
      tools: [
        {
          name: 'show', inputSchema,
          requires: {
            fs: { read: ['{workspace}/**'], write: ['{workspace}/out.md'] }, net: { hosts: ['api.example'] },
          },
        },
      ],
    },
    module('first'),
  )
}

/** A process and everything that it has printed. */
class Session {
  readonly child: ChildProcess
  #text = ''

  constructor(...args: readonly string[]) {
    const bin = join(import.meta.dirname, '../src/bin.ts')
    this.child = spawn(process.execPath, [...BUNDLED, bin, 'dev', ...args], {
      cwd: folder,
      env: {
        NO_COLOR: '1', HOME: join(folder, 'home'), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...NO_NPM,
      },
    })
    this.child.once('exit', () => this.child.emit('printed'))
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#text += text
        this.child.emit('printed')
      })
    }
  }

  /** Waits for a text, and forgets everything before. */
  async see(wanted: RegExp): Promise<string> {
    while (!wanted.test(this.#text)) {
      if (this.child.exitCode !== null) throw new Error(`It ended: ${this.#text}`)
      await once(this.child, 'printed')
    }
    const seen = this.#text
    this.#text = ''
    return seen
  }

  enter(...lines: readonly string[]): void {
    this.child.stdin!.write(lines.map((line) => `${line}\n`).join(''))
  }
}

it('reloads on change, and keeps the last version that can be built', ONLY_IN_SOAK, async () => {
  const at = writeTool()
  const session = new Session('./tools/show', '--mode', 'yolo')
  await session.see(/Enter \.help/)
  session.enter('show {"path":"a.md"}')
  const first = await session.see(/did not use yet: .*api\.example/)
  expect(first).toMatch(/^first text$/m)
  expect(first).toMatch(/^warn: reading$/m)
  expect(first).toMatch(/^show used: fs\.read a\.md, fs\.write out\.md$/m)

  writeFileSync(join(at, 'index.js'), 'export default {{')
  await session.see(/CompartmentStartFailed index\.js, line 1, cannot be parsed/)
  writeFileSync(join(at, 'index.js'), module('second'))
  await session.see(/Reloaded show 1\.0\.0\./)
  session.enter('show', 'hide', 'show {')
  expect(await session.see(/The arguments: is not JSON/)).toMatch(/second text[\s\S]*There is no tool "hide"/)
  session.enter('.tools', '.powers', '.exit')
  const [code] = await once(session.child, 'exit')
  expect(code).toBe(0)
})

it('calls tools, builds again, and shows what was used and what is declared', LONG, async () => {
  const at = writeTool()
  async function* lines(): AsyncGenerator<string> {
    yield 'show {"path":"a.md"}\n'
    while (!existsSync(join(folder, 'out.md'))) await setTimeout(20)
    writeFileSync(join(at, 'index.js'), module('second'))
    yield '.reload\nshow\n.exit\n'
  }
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', { value: Readable.from(lines()), configurable: true })
  try {
    const { code, stdout, stderr } = await inside(['dev', './tools/show', '--mode', 'yolo', '--no-store'], folder)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'first text\nsecond text\n' })
    expect(stderr).toMatch(/^warn: reading$/m)
    expect(stderr).toMatch(
      /^show used: fs\.read a\.md, fs\.write out\.md\nshow declares and did not use yet: .*api\.example$/m,
    )
    expect(stderr).toMatch(/^Reloaded show 1\.0\.0\.$/m)
  } finally {
    Object.defineProperty(process, 'stdin', stdin)
  }
})

it('rejects what it cannot work on', async () => {
  expect(await inside(['dev', '.', '.'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('Name one folder after "dev"'),
  })
  expect(await inside(['dev', './gone'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid "\.\/gone" is not a folder/),
  })
  expect(await inside(['dev', '.', '--json'], folder)).toMatchObject({
    code: 2, stdout: expect.stringContaining('--json cannot be used'),
  })
})

it.each<[string, readonly string[], string]>([
  ['', ['show ', 'hide ', '.tools', '.powers', '.reload', '.help', '.exit'], ''],
  ['sh', ['show '], 'sh'],
  ['.p', ['.powers'], '.p'],
  ['show ', ['{ '], ''],
  ['show { ', ['"path": ', '"unit": ', '"fast": '], ''],
  ['show { "p', ['"path": '], '"p'],
  ['show {pa', ['"path": '], 'pa'],
  ['show { "unit": ', ['"lines"', '"words"'], ''],
  ['show { "unit": "w', ['"words"'], '"w'],
  ['show { "unit": "words", "f', ['"fast": '], '"f'],
  ['show { "fast": t', ['true'], 't'],
  ['show { "path": "', [], '"'],
  ['other { "', [], ''],
])('completes %j from the schema', (line, completions, part) => {
  const tools = [
    { name: 'show', inputSchema }, { name: 'hide', inputSchema: { type: 'object' } },
  ] as unknown as readonly ToolManifest[]
  expect(complete(line, tools)).toEqual([completions, part])
})

it('completes and asks at a terminal', ONLY_IN_SOAK, async () => {
  writeTool()
  const terminal = new PseudoTerminal(['dev', './tools/show'], folder)
  await terminal.see('> ')
  // A tab inside of other text counts as pasted.
  for (const [typed, seen] of [['sh', '> sh'], ['\t', '> show '], ['{ "pa', '{ "pa'], ['\t', '{ "path": ']] as const) {
    terminal.press(typed)
    await terminal.see(seen)
  }
  terminal.press('"a.md" }', KEYS.enter)
  await terminal.see('Run it?')
  terminal.press(KEYS.down, KEYS.down, KEYS.enter)
  await terminal.see('first text')
  terminal.press('.exit', KEYS.enter)
  expect(await terminal.ended()).toBe(0)
})
