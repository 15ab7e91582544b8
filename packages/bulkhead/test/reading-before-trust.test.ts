import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { IGNORE_FILE } from '@bulkhead/contract'
import { createLoader } from '@bulkhead/loader'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loaderOptions } from '../src/facade/loader-options.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { BUNDLED } from './bundled.ts'
import { NO_NPM } from './no-npm.ts'
import { writeExtension } from './extension-folder.ts'
import type { TracedRequest } from './fixtures/traced-host.ts'

let folder: string
const workspace = () => join(folder, 'work')
const home = () => join(folder, 'person/.bulkhead')
const put = (path: string, content: object | string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content))
}
const skill = (name: string): string => `---\nname: ${name}\ndescription: d\n---\n`

/** Everything that a project can bring, and what other programs read in one. */
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-trace-')))
  mkdirSync(home(), { recursive: true })
  put('person/.npmrc', 'registry=https://127.0.0.1:9/')
  writeExtension(
    join(workspace(), '.bulkhead'), { id: 'weather', tools: [{ name: 'weather' }] },
    'export default { tools: { weather: { execute: () => 1 } } }',
  )
  writeExtension(
    folder, { id: 'other', tools: [{ name: 'other' }] }, 'export default { tools: { other: { execute: () => 1 } } }',
  )
  put('work/.bulkhead/config.json', {
    skills: { paths: ['team/skills'] }, openapi: { pets: { document: 'api/pets.json' } },
    mcp: { ship: { type: 'local', command: ['./server.js'] } },
    lsp: { ts: { command: ['./lsp.js'], suffixes: ['.ts'] } },
    packages: ['tool-package'],
  })
  put('work/.bulkhead/bulkhead.lock', { lockVersion: 1, extensions: {} })
  put('work/.bulkhead/agents/reviewer.json', { name: 'reviewer' })
  for (const place of ['.agents/skills', '.claude/skills', '.bulkhead/skills', 'team/skills']) {
    for (const name of ['own', 'shared']) put(`work/${place}/${name}/SKILL.md`, skill(name))
    put(`work/${place}/own/scripts/run.sh`, 'echo')
  }
  put('work/api/pets.json', {
    openapi: '3.1.0', info: { title: 'Pets', version: '1' }, servers: [{ url: 'https://pets.example' }],
    paths: { '/pets': { $ref: 'parts.json#/pets' } },
  })
  put('work/api/parts.json', { pets: { get: { operationId: 'listPets', responses: { 200: { description: 'ok' } } } } })
  put('work/.npmrc', 'registry=https://127.0.0.1:10/')
  for (const name of [
    '.bulkhead/kits/k.yaml', '.bulkhead/guidance/read.yaml', '.bulkhead/trust.jsonl', '.bulkhead/trust-root.json',
    '.bulkhead/policy.json', '.bulkhead/data/x', 'AGENTS.md', 'CLAUDE.md', '.agents/agents/a.json',
    '.claude/settings.json', '.mcp.json', '.vscode/mcp.json', '.vscode/settings.json', '.cursor/mcp.json', '.env',
    '.envrc', '.git/config', '.gitignore', '.bulkheadignore', 'package.json', 'tsconfig.json',
    'node_modules/tool-package/package.json', 'bulkhead.json', 'bulkhead.lock', 'server.js', 'lsp.js', 'a.txt',
  ])
    put(`work/${name}`, '{}')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CHILD = join(import.meta.dirname, 'fixtures/traced-host.ts')
/** Sees code that is not JavaScript too, if the machine can trace it. What Node was asked for is checked everywhere. */
const tracer = 'strace'
const tracing = [['-f', '--seccomp-bpf'], ['-f']].find(
  (options) => spawnSync(tracer, [...options, '-o', '/dev/null', 'true']).status === 0,
)

/** The files and folders of the workspace that were read. */
function readBy(request: Partial<TracedRequest>): readonly string[] {
  const trace = join(folder, 'trace')
  const node = [
    process.execPath, ...BUNDLED, CHILD,
    JSON.stringify({ workspace: workspace(), home: home(), trusts: [null], commands: [], ...request }),
  ]
  const [command, ...args] = tracing
    ? [tracer, ...tracing, '-e', 'trace=open,openat,openat2', '-o', trace, ...node]
    : node
  const env = {
    PATH: process.env['PATH'], HOME: join(folder, 'person'), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    ...NO_NPM,
  }
  const { status, stdout, stderr } = spawnSync(command!, args, {
    encoding: 'utf8',
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_config_userconfig$/i.test(name))),
  })
  expect([status, stderr]).toEqual([0, ''])
  const opened = tracing
    ? [...readFileSync(trace, 'utf8').matchAll(/open(?:at2?)?\((?:AT_FDCWD, )?"([^"]*)", (?!.*O_PATH)/g)].map(
        ([, path]) => path!,
      )
    : []
  const inside = opened.filter((path) => path.startsWith(`${workspace()}/`))
  return [...new Set([...(JSON.parse(stdout) as string[]), ...inside])]
    .map((path) => relative(workspace(), path))
    .toSorted()
}

/** Trust covers the command line of a server, and not the files that it names: the security page says so. */
const PROGRAMS: ReadonlySet<string> = new Set(['server.js', 'lsp.js'])

const COMMANDS = [
  ['tools'], ['doctor'], ['config', 'list'], ['agents'], ['explain', 'read', '--args', '{"path":"a.txt"}'],
  ['install', '../tools/other', '--project', '--dry-run'], ['install', '../tools/other', '--yes'],
  ['install', 'no-such-package', '--yes'], ['uninstall', 'other'],
]

describe('a project that is not trusted', () => {
  it('is not read, except its ignore file, at the start of a host or at an installation', () => {
    // That file only denies, so it counts without trust.
    expect(readBy({ trusts: [null, 'declined'], commands: COMMANDS })).toEqual([IGNORE_FILE])
  })
})

describe('a project with a decision', () => {
  const decide = async (decision: 'trusted' | 'declined') => {
    const loader = createLoader(loaderOptions(home()))
    await loader.trust.decide(workspace(), decision)
    return loader
  }

  // A declined project is like one without a decision, whose test runs all commands.
  it.each(thoroughly(['trusted'] as const, ['declined', 'trusted'] as const))(
    'is read only where the decision (%s) covers the content',
    LONG,
    async (decision) => {
      const loader = await decide(decision)
      const digest = await loader.trust.measure(workspace())
      const files: string[] = []
      for (const path of readBy({ commands: COMMANDS })) {
        if (PROGRAMS.has(path) || path === IGNORE_FILE) continue
        const file = join(workspace(), path)
        let before: Buffer
        try {
          before = readFileSync(file)
        } catch {
          // A folder, or a name that does not exist.
          continue
        }
        files.push(path)
        appendFileSync(file, ' ')
        expect(await loader.trust.measure(workspace()), path).not.toBe(digest)
        writeFileSync(file, before)
      }
      expect(await loader.trust.measure(workspace())).toBe(digest)
      expect(files).toEqual(
        expect.arrayContaining([
          '.agents/skills/own/SKILL.md', '.bulkhead/agents/reviewer.json', '.bulkhead/bulkhead.lock',
          '.bulkhead/config.json', '.bulkhead/skills/own/scripts/run.sh', '.bulkhead/tools/weather/bulkhead.json',
          '.claude/skills/own/SKILL.md', '.npmrc', 'api/parts.json', 'api/pets.json',
          'node_modules/tool-package/package.json', 'team/skills/own/SKILL.md',
        ]),
      )
    },
  )
})
