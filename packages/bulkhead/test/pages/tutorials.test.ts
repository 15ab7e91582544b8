import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { inside } from '../command-inside.ts'
import { useThreads } from '../extension-folder.ts'
import { runProgram } from '../program-inside.ts'
import { BLOCKS, placeOf, ROOT, type Block } from './blocks.ts'
import { startPublishedPackages } from './published-packages.ts'
import { argumentsOf, withFewChecks } from './shell-words.ts'

const TUTORIALS = globSync('docs/tutorials/*.md', { cwd: ROOT }).toSorted()

/** `pnpm soak` installs what a release would publish. Otherwise the packages of the workspace are linked. */
const published = thoroughly(false, true) ? await startPublishedPackages() : undefined
afterAll(() => published?.[Symbol.asyncDispose]())

let folder: string
/** The URL of the store, for pages that need a server. */
let store: string | undefined
beforeEach(() => {
  store = undefined
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-tutorial-'))
  if (published) return
  useThreads(join(folder, 'home/.bulkhead'))
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  for (const [name, target] of [
    ['bulkhead', 'packages/bulkhead'], ['@bulkhead/bridges', 'packages/bridges'],
    ['@modelcontextprotocol', 'packages/bulkhead/node_modules/@modelcontextprotocol'], ['.bin', 'node_modules/.bin'],
  ] as const) symlinkSync(join(ROOT, target), join(folder, 'node_modules', name))
})
afterEach(() => rmSync(folder, { recursive: true }))

function save(name: string, text: string): void {
  const file = join(folder, name.replace(/^~/, 'home'))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** What `npm version patch` does. `pnpm soak` runs npm. */
function raisePatch(file: string): void {
  const { version, ...others } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }
  writeFileSync(
    file, JSON.stringify({ ...others, version: version.replace(/\d+$/, (patch) => String(Number(patch) + 1)) }),
  )
}

/** Runs a command, answering "n" to every question. `install` gets `--yes`. */
async function run(line: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const command = withFewChecks(line.replace(/^npx /, '')) + (/\bbulkhead install\b/.test(line) ? ' --yes' : '')
  const { PATH, NODE_COMPILE_CACHE, NODE_EXTRA_CA_CERTS } = process.env
  const env = {
    NO_COLOR: '1', HOME: join(folder, 'home'), NODE_COMPILE_CACHE,
    PATH: [join(folder, 'node_modules/.bin'), dirname(process.execPath), PATH].join(':'),
    ...(store !== undefined && { BULKHEAD_STORE: store }),
    ...(published && { NODE_EXTRA_CA_CERTS, npm_config_registry: published.url }),
  }
  const args = argumentsOf(command)
  if (args !== undefined) {
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
    Object.defineProperty(process, 'stdin', { value: Readable.from(['n\n']), configurable: true })
    try {
      const { code, stdout, stderr } = await inside(args, folder, env)
      return { code, output: stdout + stderr }
    } finally {
      Object.defineProperty(process, 'stdin', stdin)
    }
  }
  const [, file] = /^node ([\w-]+\.ts)$/.exec(command) ?? []
  if (file !== undefined) {
    const { code, stdout, stderr } = await runProgram({ file, cwd: folder, env }, 'n\n')
    return { code, output: stdout + stderr }
  }
  const [, raised] = thoroughly(/^npm version patch --prefix ([\w-]+)$/, /^$/).exec(command) ?? []
  if (raised !== undefined) {
    raisePatch(join(folder, raised, 'package.json'))
    return { code: 0, output: '' }
  }
  const child = spawn('/bin/sh', ['-c', command], { cwd: folder, env, stdio: 'pipe' })
  child.stdin.end('n\n')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

/** A pattern from an expected output, in which "…" matches anything. */
const pattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .trimEnd()
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[\\s\\S]*')}`,
  )

const commandsOf = ({ text }: Block): readonly string[] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+# .*$/, ''))

/** Copies the packages of a server, as npm does: a server in its jail cannot follow links out of the folder. */
function installServer(): void {
  const packages = join(
    realpathSync(join(ROOT, 'packages/bulkhead/node_modules/@modelcontextprotocol/server')), '../..',
  )
  rmSync(join(folder, 'node_modules/@modelcontextprotocol'))
  const isCode = (path: string) => !/\.(?:map|d\.[cm]?ts)$|\/src$/.test(path)
  for (const name of ['@modelcontextprotocol/server', '@modelcontextprotocol/core', 'zod']) {
    cpSync(realpathSync(join(packages, name)), join(folder, 'node_modules', name), { recursive: true, filter: isCode })
  }
}

/** The page of servers tells a reader without bubblewrap to write this. */
const forMachine = (text: string): string =>
  has('bubblewrap') ? text : text.replaceAll('"type": "local", "command"', '"type": "local", "jail": false, "command"')

const WITH_SERVER = 'docs/tutorials/workers.md'
/** They start processes. */
const HEAVY = ['first-tool', 'two-replicas', 'guard-an-mcp-server'].map((name) => `docs/tutorials/${name}.md`)
const LIGHT = TUTORIALS.filter((page) => page !== WITH_SERVER && !HEAVY.includes(page))

it.each(LIGHT)('%s works step by step', WALLS, follow)

it.each(HEAVY)('%s works step by step', { tags: ['walls', 'long'] }, follow)

it(`${WITH_SERVER} works step by step`, { ...needs('PostgreSQL'), ...LONG }, async () => {
  store = (await sharedPostgres()).url(newSchema())
  await follow(WITH_SERVER)
})

async function follow(page: string): Promise<void> {
  if (!published && page.includes('mcp-server')) installServer()
  const blocks = BLOCKS.filter((block) => block.page === page)
  for (const [index, block] of blocks.entries()) {
    if (block.file !== undefined) save(block.file, forMachine(block.text))
    if (block.language !== 'sh') continue
    const next = blocks[index + 1]
    const expected = next?.language === 'text' && next.file === undefined ? next.text : undefined
    for (const line of commandsOf(block).filter((command) => published || !/^npm (?:install|test)/.test(command))) {
      const { code, output } = await run(line)
      if (expected === undefined)
        expect({ place: placeOf(block), line, code, output }).toMatchObject({
          code: /\bexplain\b/.test(line) ? expect.toBeOneOf([0, 1]) : 0,
        })
      else if (line === commandsOf(block).at(-1)) expect(output).toMatch(pattern(expected))
    }
  }
}
