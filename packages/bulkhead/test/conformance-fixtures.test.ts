import {
  appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Report } from '@bulkhead/conformance'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-fixtures-')))
  for (const [path, content] of Object.entries(EXTENSION)) write(path, content)
})
afterAll(() => rmSync(folder, { recursive: true }))

function write(path: string, content: unknown): void {
  const file = join(folder, 'needy', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

const inputSchema = {
  type: 'object', properties: { text: { type: 'string', maxLength: 40, description: 'A text.' } }, required: ['text'],
  additionalProperties: false,
}
const tool = (name: string, requires: object, text: string) => ({
  name, description: `Needs what the fixtures give: ${name}.`, inputSchema, requires,
  examples: [{ arguments: { text } }],
})

/** Each tool fails unless its fixture is there. `read_table` also declares a host that it never uses. */
const EXTENSION = {
  'bulkhead.json': {
    id: 'needy', version: '1.0.0', kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0',
    secrets: [{ name: 'CITY_KEY', hosts: ['api.example.com'] }], env: ['CITY_UNITS'],
    tools: [
      tool(
        'read_table', { fs: { read: ['{workspace}/**'] }, net: { hosts: ['unused.example.com'] } }, 'tables/sales.csv',
      ),
      tool('city_size', { net: { hosts: ['api.example.com'] } }, 'Lisbon'),
      tool('branch_name', { shell: [{ cmd: 'git', args: ['branch', { wildcard: true }] }] }, '--show-current'),
      tool('translate', { capabilities: ['tools.call'] }, 'hello'),
      tool('ask_size', { capabilities: ['interact'] }, 'How large?'),
      tool(
        'read_whole', { fs: { read: ['{workspace}', '{ad-hoc}'] }, capabilities: ['tools.call'] }, 'tables/sales.csv',
      ),
    ],
  },
  'index.js': `const dataOf = (outcome) => {
      if (outcome.type === 'error') throw new Error(outcome.error_text)
      return outcome.data
    }
    export default { tools: {
    read_table: { async execute({ text }, { fs }) {
      const rows = (await fs.readText(text)).trim().split('\\n')
      if (rows[0] !== 'city,sales') throw new Error('It is not a table of sales.')
      return { rows: rows.length - 1 }
    } },
    city_size: { async execute({ text }, { net, secrets, env }) {
      const authorization = await secrets.handle('CITY_KEY')
      const query = '?units=' + await env.get('CITY_UNITS')
      const url = 'https://api.example.com/v1/cities/' + encodeURIComponent(text) + query
      const response = await net.fetch(url, { headers: { authorization } })
      if (response.status !== 200) throw new Error('There is no such city.')
      return { people: (await response.json()).people.total }
    } },
    branch_name: { async execute({ text }, { shell }) {
      const { stdout } = await shell.run('git', ['branch', text])
      const piped = await shell.pipe([{ cmd: 'git', args: ['branch', text] }])
      const failed = piped.stdout !== stdout || piped.exits[0].exitCode !== 0
      if (stdout === '' || failed) throw new Error('There is no branch.')
      return { branch: stdout.trim() }
    } },
    translate: { async execute({ text }, { tools }) {
      return { text: dataOf(await tools.call('translator_run', { text })).translated.text }
    } },
    ask_size: { async execute({ text }, { interact }) {
      const size = Number(await interact.ask(text))
      if (!Number.isInteger(size)) throw new Error('It is not a number.')
      return { size }
    } },
    read_whole: { async execute({ text: path }, { tools }) {
      return { text: dataOf(await tools.call('read', { path })) }
    } },
  } }\n`,
}

const FIXTURES = {
  'fixtures/files/tables/sales.csv': 'city,sales\nLisbon,3\n',
  'fixtures/http.json': {
    'api.example.com': [
      { method: 'GET', path: '/v1/cities/Lisbon?units=metric', body: { people: { total: 545_000 } } },
    ],
  },
  'fixtures/secrets.json': { CITY_KEY: 'key-of-a-test-account', CITY_UNITS: 'metric' },
  'fixtures/commands.json': [{ cmd: 'git', args: ['branch', '--show-current'], stdout: 'main\n' }],
  'fixtures/tools.json': { translator_run: { translated: { text: 'olá' } } },
  'fixtures/answers.json': { 'How large?': '12' },
}
const ONLY = ['--only', [
  'call-succeeds', 'examples-outcome', 'output-content', 'power-declared', 'power-used-hosts', 'power-used-secrets',
  'power-used-env', 'power-used-read',
].join(',')]

const check = async (...args: readonly string[]) => {
  const ran = await inside(['conformance', 'needy', '--json', ...ONLY, ...args], folder)
  return { ...ran, report: JSON.parse(ran.stdout) as Report }
}

it('tools get files, answers and secrets from the folder fixtures, and fail without them', LONG, async () => {
  const { code, report } = await check()
  expect(code).toBe(1)
  expect(report.checks.find(({ id }) => id === 'call-succeeds')).toMatchObject({
    ok: false, evidence: expect.stringMatching(/^read_table: all /),
  })
  for (const [path, content] of Object.entries(FIXTURES)) write(path, content)
  const { report: { checks, summary }, stderr } = await check('--sarif', 'report.sarif')
  expect(checks.filter(({ ok }) => ok !== true).map(({ id, evidence }) => [id, evidence])).toEqual([
    ['power-used-hosts', expect.stringMatching(/^read_table never used unused\.example\.com; it used fs\.read /)],
  ])
  expect(summary.conforms).toBe(true)
  // Not a terminal: one line for each step and tool.
  expect(stderr.split('\n').filter((line) => line === 'calling city_size').length).toBe(2)
  expect(stderr).toMatch(/^reading the package\nstarting and stopping\ncalling read_table\n/)
  expect(stderr).not.toContain('\u001B')
})

it('the results are written as SARIF 2.1.0', LONG, () => {
  const { version, runs: [run] } = JSON.parse(readFileSync(join(folder, 'report.sarif'), 'utf8')) as Sarif
  expect(version).toBe('2.1.0')
  expect(run.tool.driver).toMatchObject({ name: 'bulkhead conformance' })
  const rules = run.tool.driver.rules.map(({ id }) => id)
  expect(rules).toContain('call-succeeds')
  expect(new Set(rules).size).toBe(rules.length)
  expect(run.results).toEqual([{
    ruleId: 'power-used-hosts', ruleIndex: rules.indexOf('power-used-hosts'), kind: 'fail', level: 'warning',
    message: { text: expect.stringContaining('unused.example.com') },
    locations: [{ physicalLocation: { artifactLocation: { uri: 'needy/bulkhead.json' }, region: { startLine: 1 } } }],
    partialFingerprints: { 'bulkheadRequirement/v1': 'needy/power-used-hosts' },
  }])
})

interface Sarif {
  readonly version: string
  readonly runs: readonly [{
    readonly tool: { readonly driver: { readonly name: string; readonly rules: readonly { readonly id: string }[] } }
    readonly results: readonly object[]
  }]
}

it('a package has no fixtures unless `files` lists them, and then it can be checked itself', LONG, async () => {
  const packed = async () =>
    (JSON.parse((await inside(['pack', 'needy', '--json'], folder)).stdout) as { readonly files: readonly string[] })
      .files
  expect((await packed()).filter((path) => path.startsWith('fixtures'))).toEqual([])
  write('package.json', { name: 'needy', version: '1.0.0', type: 'module', files: ['index.js', 'fixtures'] })
  expect(await packed()).toContain('fixtures/http.json')
  expect(await inside(['conformance', 'needy-1.0.0.tgz', '--json', '--only', 'call-succeeds'], folder)).toMatchObject({
    code: 0,
  })
})

it('fixtures that cannot be used are refused before anything runs', async () => {
  for (const [path, content] of Object.entries(FIXTURES)) write(path, content)
  const refused = async () => {
    const { code, stdout, stderr } = await inside(['conformance', 'needy', '--only', 'call-succeeds'], folder)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    return stderr
  }
  write('fixtures/secrets.json', { CITY_KEEY: 'x' })
  expect(await refused()).toMatch(/^ConfigInvalid fixtures\/secrets\.json at \/CITY_KEEY /)
  rmSync(join(folder, 'needy/fixtures/secrets.json'))
  symlinkSync('/etc/hostname', join(folder, 'needy/fixtures/files/link.txt'))
  expect(await refused()).toMatch(/^PackageUnsafe The file "fixtures\/files\/link\.txt" of the package is a link/)
  rmSync(join(folder, 'needy/fixtures/files/link.txt'))
  appendFileSync(join(folder, 'needy/fixtures/http.json'), '!')
  expect(await refused()).toMatch(/^ConfigInvalid fixtures\/http\.json is not JSON/)
  expect(await inside(['conformance', 'needy', '--budget', '0'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('--budget must be'),
  })
})
