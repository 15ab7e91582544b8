import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { usageOf } from '../../src/cli/help.ts'
import { COMMANDS } from '../../src/cli/main.ts'
import { inside } from '../command-inside.ts'
import { useThreads } from '../extension-folder.ts'
import { BLOCKS, PAGES, ROOT, type Block } from './blocks.ts'
import { argumentsOf, withFewChecks } from './shell-words.ts'

/** Commands that no test can run, and why. */
const NOT_RUN: ReadonlyMap<string, string> = new Map([
  ['bulkhead sign dist/weather-1.4.0.tgz', 'only CI has the identity'],
  [
    'bulkhead mcp add files --read /srv/data --net cdn.acme.example '
    + `--use-key 'ACME_TOKEN=api.acme.example/v1/**' -- npx -y @acme/files-server .`,
    'the package is an example; mcp-add.test.ts runs it',
  ],
  [
    `bulkhead call lsp --args '{ "action": "hover", "path": "src/main.rs", "line": 3, "query": "main" }'`,
    'needs a language server; lsp.test.ts makes such calls',
  ],
  ...[
    'bulkhead inspect', 'bulkhead inspect --decide', 'bulkhead inspect --link', 'npx bulkhead inspect --decide',
    'npx bulkhead inspect --host 0.0.0.0 --origin https://ops.example:8770 --cert cert.pem --key key.pem',
  ].map((line) => [line, 'it serves until it is stopped; command.test.ts of inspector runs it'] as const),
  ['bulkhead mcp remove files', 'mcp-add.test.ts runs it'],
  ['bulkhead mcp login harbour', 'a person signs in; login.test.ts runs it'],
  ['bulkhead mcp logout harbour', 'login.test.ts runs it'],
  ['bulkhead passkey add laptop', 'a browser makes the passkey; passkey-page.test.ts of inspector runs it'],
  ...[
    'npm install bulkhead @bulkhead/store-postgres pg @dbos-inc/dbos-sdk',
    "DATABASE_URL='postgres://…' node orders.ts order-1",
  ].map((line) => [line, 'the server is an example; durable-agents.test.ts has a real one'] as const),
  ['npx bulkhead dev ./word-count', 'it waits for input; dev.test.ts runs it'],
  ['npm create bulkhead word-count', 'npm gets the package from a registry; new.test.ts runs it'],
  ...[
    'npm install pg @bulkhead/store-postgres',
    'npm install pg @bulkhead/store-postgres && export BULKHEAD_STORE=postgres://agents@db.example/agents '
    + '&& npx bulkhead store migrate',
    "export BULKHEAD_STORE='postgres://bulkhead@db.example/agents?passwordfile=/run/secrets/store'",
    'npx bulkhead store migrate', 'npx bulkhead store tenant add acme', 'npx bulkhead store tenant list',
    'npx bulkhead store pool add gpu --labels gpu,region=eu --workspaces shop',
    'npx bulkhead store pool add cleaner --maintains',
    "BULKHEAD_STORE='postgres://owner@db.example/agents' npx bulkhead store migrate",
    `psql -c "CREATE ROLE bulkhead LOGIN PASSWORD '…'" `
    + "-c 'CREATE DATABASE agents OWNER bulkhead ENCODING UTF8 TEMPLATE template0'",
  ].map((line) => [line, 'the server is an example; store-command.test.ts has a real one'] as const),
  // It starts a process.
  ...thoroughly<readonly (readonly [string, string])[]>([['npx bulkhead mcp', 'mcp-command.test.ts runs it']], []),
  [
    'export PATH="$PWD/node_modules/.bin:$(ls -d "$PWD"/.tools/pnpm-*/node_modules/.bin):$PATH"',
    'the set-up of this very run',
  ],
])

const scriptsOf = (folder: string): ReadonlySet<string> =>
  new Set(
    Object.keys((JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as { scripts: object }).scripts),
  )
const nameOf = (file: string): string => (JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { name: string }).name
const FOLDERS: ReadonlyMap<string, string> = new Map(
  globSync('packages/*/package.json', { cwd: ROOT }).map((file) => [nameOf(file), dirname(file)]),
)

/** The commands of a block, as a shell sees them. */
const linesOf = ({ text }: Block): readonly string[] =>
  text.split('\n').map((line) => line.replace(/(^|\s)# .*$/, '').trim()).filter((line) => line !== '')
/** Programs that pages use beside ours, in the folder of the page and in its home. */
const isOfFiles = (line: string): boolean => /^(?:mkdir -p old && mv|cp -a|rm -rf) [\w~./ *&-]+$/.test(line)
const SHELL: readonly (readonly [page: string, line: string])[] = BLOCKS.filter(
  ({ page, language }) => language === 'sh' && !page.startsWith('docs/tutorials/'),
).flatMap((block) => linesOf(block).map((line) => [block.page, line] as const))
const isOurs = (line: string): boolean => /^(?:npx )?bulkhead \w/.test(line)

let folder: string
beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-pages-')) })
afterAll(() => rmSync(folder, { recursive: true }))

/** A project with this package installed, and with the extensions that the page assumes. */
async function projectFor(page: string): Promise<string> {
  const project = join(folder, page)
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/.bin'), join(project, 'node_modules/.bin'))
  writeFileSync(join(project, 'README.md'), 'one two\n')
  if (thoroughly(true, false)) useThreads(join(project, 'home/.bulkhead'))
  expect(await run('bulkhead new my-tool --template tool', project)).toBe('')
  if (page === 'docs/guides/policy.md') {
    const tests = BLOCKS.find((block) => block.page === page && block.language === 'yaml')
    writeFileSync(join(project, 'policy-tests.yaml'), tests?.text ?? '')
  }
  if (page === 'docs/guides/packages.md') {
    expect(await run('bulkhead new weather --template tool', project)).toBe('')
    for (const name of ['bulkhead.json', 'package.json']) {
      const file = join(project, 'weather', name)
      writeFileSync(file, readFileSync(file, 'utf8').replace('"version": "0.1.0"', '"version": "1.4.0"'))
    }
  }
  return project
}

/** Runs a command. Resolves with its error, or an empty string. */
async function run(line: string, cwd: string): Promise<string> {
  // There is no terminal: `install` needs the consent that a reader would give, and `explain` may answer that a call is
  // denied.
  const inFolder = line.replace(/^npx /, '').replaceAll('~/', 'home/')
  const command = withFewChecks(inFolder) + (/\binstall\b/.test(line) ? ' --yes' : '')
  const env = {
    NO_COLOR: '1', HOME: join(cwd, 'home'), PATH: `${join(ROOT, 'node_modules/.bin')}:/usr/bin:/bin`,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  }
  const [, written = command, file] = thoroughly(/^(bulkhead .*) > ([\w.-]+)$/, /^$/).exec(command) ?? []
  const args = argumentsOf(written)
  if (args !== undefined) {
    const { code, stdout, stderr } = await inside(args, cwd)
    if (file !== undefined) writeFileSync(join(cwd, file), stdout)
    return verdictOf(line, code, stderr)
  }
  const child = spawn('/bin/sh', ['-c', command], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  const [code] = (await once(child, 'close')) as [number | null]
  return verdictOf(line, code, stderr)
}

const verdictOf = (line: string, code: number | null, stderr: string): string =>
  code === 0 || (code === 1 && stderr === '' && /\bexplain\b/.test(line)) ? '' : `${line} ends with ${code}: ${stderr}`

const PAGES_WITH_COMMANDS = PAGES.filter((page) => SHELL.some(([of, line]) => of === page && isOurs(line)))
const succeed = async (page: string): Promise<void> => {
  const project = await projectFor(page)
  const refused: string[] = []
  for (const [of, line] of SHELL)
    if (of === page && (isOurs(line) || isOfFiles(line)) && !NOT_RUN.has(line)) refused.push(await run(line, project))
  expect(refused.filter((text) => text !== '')).toEqual([])
}
const FIRST = 'README.md'
it.each([FIRST])('the commands of %s succeed in order', succeed)
it.each(PAGES_WITH_COMMANDS.filter((page) => page !== FIRST))('the commands of %s succeed in order', LONG, succeed)

it('every other command is an existing script or package, or a listed exception', () => {
  const unknown = SHELL.filter(([, line]) => {
    const [program, ...words] = line.split(/\s+/)
    if (isOurs(line) || isOfFiles(line) || NOT_RUN.has(line)) return false
    if (program === 'npm' && words[0] === 'install') return !words.slice(1).every((name) => FOLDERS.has(name))
    if (program === 'pnpm' && words[0] === '--filter')
      return !scriptsOf(FOLDERS.get(words[1]!) ?? '.').has(words[3]!) || words[2] !== 'run'
    return (program !== 'npm' && program !== 'pnpm') || !scriptsOf('.').has(words[0]!)
  })
  expect(unknown).toEqual([])
  expect([...NOT_RUN.keys()].filter((line) => !SHELL.some(([, shown]) => shown === line))).toEqual([])
})

it('every option that a page shows is in the usage of its command', async () => {
  const forms = BLOCKS.filter(({ language }) => language === '').flatMap((block) => linesOf(block).filter(isOurs))
  expect(forms.length).toBeGreaterThan(0)
  for (const form of forms) {
    const [, name = ''] = form.split(/\s+/)
    const usage = usageOf(name, await COMMANDS.get(name)!.load())
    expect({ form, unknown: (form.match(/--[a-z-]+/g) ?? []).filter((option) => !usage.includes(option)) }).toEqual({
      form, unknown: [],
    })
  }
})

it('the command has the documented path', () => {
  expect(existsSync(join(ROOT, 'node_modules/.bin/bulkhead'))).toBe(true)
})
