import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { bulkhead } from './command.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-start-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const source = pathToFileURL(join(import.meta.dirname, '../src/')).href
const noting = new URL('./noting-loads.ts', import.meta.url).href

/** What the command loads: modules of this package by path, other packages by name. */
async function loadsOf(args: readonly string[], code = 0, more: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const file = join(folder, 'loads')
  rmSync(file, { force: true })
  expect(await bulkhead(args, folder, { LOADS_FILE: file, ...more }, ['--import', noting])).toMatchObject({ code })
  return namesOf(readFileSync(file, 'utf8').split('\n'))
}

const namesOf = (urls: readonly string[]): readonly string[] =>
  [...new Set(urls.map((url) => url.startsWith(source) ? url.slice(source.length) : packageOf(url)))].toSorted()

const packageOf = (url: string): string =>
  /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /\/packages\/([^/]+)\//.exec(url)?.[1] ?? url

// The package kit is loaded for the check of the Node version.
const AT_ONCE = [
  'bin.ts', 'cli/command.ts', 'cli/main.ts', 'facade/compiled-code.ts', 'facade/folders.ts', 'facade/version.ts', 'kit',
]

it('--version loads only the entry modules', async () => {
  expect(await loadsOf(['--version'])).toEqual(AT_ONCE)
})

/** Slow to load, and not needed to list tools. */
const MCP_CLIENT = '@modelcontextprotocol/client'
const HEAVY = [
  'sandbox', 'undici', 'comlink', 'piscina', '@clack/prompts', '@opentelemetry/api', '@modelcontextprotocol/server',
  MCP_CLIENT, '@sigstore/verify', '@sigstore/tuf', '@npmcli/config', 'rolldown',
]

describe('of commands in one process, each with what the earlier ones have loaded,', LONG, () => {
  const COMMANDS = {
    'help': ['--help'], 'unknown': ['fly'], 'help of tools': ['tools', '--help'], 'audit': ['audit', 'verify'],
    'help of mcp': ['mcp', '--help'], 'install': ['install', './sources/tools/word', '--yes', '--home', 'own'],
    'uninstall': ['uninstall', 'word', '--home', 'own'],
  }
  let ran: Readonly<Record<keyof typeof COMMANDS, { readonly code: number; readonly loads: readonly string[] }>>
  beforeAll(async () => {
    const at = mkdtempSync(join(tmpdir(), 'bulkhead-start-'))
    writeExtension(
      join(at, 'sources'), { id: 'word', tools: [{ name: 'word' }] },
      'export default { tools: { word: { execute: () => 1 } } }',
    )
    mkdirSync(join(at, 'own'))
    const script = join(import.meta.dirname, 'fixtures/loads-of-commands.ts')
    const env = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
    const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(COMMANDS)], { cwd: at, env })
    rmSync(at, { recursive: true })
    ran = JSON.parse(stdout) as typeof ran
    expect(Object.values(ran).map(({ code }) => code)).toEqual([0, 2, 0, 1, 0, 0, 0])
  })
  const loadedBy = (name: keyof typeof COMMANDS) => namesOf(ran[name].loads)

  it.each(['help', 'unknown'] as const)('%s loads only the entry modules', (name) => {
    expect(loadedBy(name)).toContain('cli/main.ts')
    expect(loadedBy(name).filter((module) => !AT_ONCE.includes(module))).toEqual([])
  })

  it('the help of a command does not load its implementation', () => {
    expect(loadedBy('help of tools').filter((name) => !name.endsWith('.ts'))).toEqual(['contract', 'kit'])
  })

  it('the help of mcp does not load the MCP server', () => {
    expect(loadedBy('help of mcp').filter((name) => [...HEAVY, 'bridges', 'host'].includes(name))).toEqual([])
  })

  it('audit verify loads no host and no validators', () => {
    const loads = loadedBy('audit')
    expect(loads).toEqual(expect.arrayContaining(['contract', 'store']))
    expect(
      loads.filter((name) => [...HEAVY, 'host', 'loader', 'tools-bundled', 'ajv', 're2js', 'zod'].includes(name)),
    ).toEqual([])
  })

  it('install and uninstall do not verify bundled tools', () => {
    expect(loadedBy('uninstall')).toEqual(expect.arrayContaining(['contract', 'loader']))
    expect(loadedBy('uninstall').filter((name) => ['ajv', 're2js'].includes(name))).toEqual([])
  })
})

const SERVERS = JSON.stringify({ mcp: { gone: { type: 'local', command: ['/does/not/exist'] } } })

it('a list of tools loads no sandbox, network, prompts or signatures, a second no schema compilers', LONG, async () => {
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  const config = join(folder, 'home/.bulkhead/config.json')
  writeFileSync(config, SERVERS)
  const loads = await loadsOf(['tools'])
  expect(loads).toEqual(expect.arrayContaining(['contract', 'host', 'loader', 'tools-bundled', 'zod', 'ajv', 're2js']))
  expect(loads.filter((name) => HEAVY.includes(name))).toEqual([])
  rmSync(config)
  expect((await loadsOf(['tools'])).filter((name) => [...HEAVY, 'ajv', 're2js'].includes(name))).toEqual([])
})

it('a list of tools with --connect loads the MCP client', ONLY_IN_SOAK, async () => {
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  writeFileSync(join(folder, 'home/.bulkhead/config.json'), SERVERS)
  expect(await loadsOf(['tools', '--connect'])).toContain(MCP_CLIENT)
})

it('the same holds without a home folder, and none is created', ONLY_IN_SOAK, async () => {
  const cached = { XDG_CACHE_HOME: join(folder, 'cache'), NODE_COMPILE_CACHE: undefined }
  expect(await loadsOf(['tools'], 0, cached)).toEqual(expect.arrayContaining(['ajv', 're2js']))
  expect((await loadsOf(['tools'], 0, cached)).filter((name) => ['ajv', 're2js'].includes(name))).toEqual([])
  expect(readdirSync(folder).toSorted()).toEqual(['cache', 'loads'])
})

it('importing the library loads no host implementation and no validators', async () => {
  const file = join(folder, 'loads')
  const script = `const { createHost } = await import(${JSON.stringify(`${source}index.ts`)})
    if (typeof createHost !== 'function') process.exit(1)`
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: {
      NODE_OPTIONS: `--import=${noting}`, LOADS_FILE: file, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    },
  })
  const loads = new Set(
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((url) => url !== '' && !url.startsWith(source))
      .map(packageOf),
  )
  expect([...loads].toSorted()).toEqual(['contract', 'host', 'kit'])
})
