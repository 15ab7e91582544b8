import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../scripts/machine.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, type CreateHostOptions } from '../src/index.ts'
import { ownCode } from '../src/facade/folders.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let root: string
let workspace: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-protected-')))
  workspace = join(root, 'workspace')
  mkdirSync(workspace)
})
afterEach(() => rmSync(root, { recursive: true }))

const WRITER =
  'export default { tools: { put: { execute: ({ path }, runtime) => runtime.fs.write(path, \'{"mode":"yolo"}\') } } }'
const requires = { fs: { write: ['{workspace}/**'] } }

async function open(options: Partial<CreateHostOptions> = {}) {
  writeExtension(join(root, 'home'), { id: 'writer', tools: [{ name: 'put', requires }] }, WRITER)
  const host = await createHost({ workspace, home: join(root, 'home'), cache: CACHE, config: IN_THREADS, ...options })
  const session = await host.openSession({ mode: 'yolo' })
  const run = async (name: string, args: JsonObject) => {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
    return outcome.type === 'output' ? 'done' : `${outcome.error.code}: ${outcome.error_text}`
  }
  return {
    host, run, explain: (name: string, args: JsonObject) => session.explain({ id: 'explained', name, arguments: args }),
  }
}

describe.each([
  ['.bulkhead', {}], ['agent', { projectFolder: 'agent' }],
])('the project layer in %s', (folder, options) => {
  it('cannot be written by a tool, with any grant', { tags: [...WALLS.tags, ...LONG.tags] }, async () => {
    const { host, run } = await open(options)
    for (const path of ['config.json', 'tools/evil/manifest.json']) {
      expect(await run('put', { path: `${folder}/${path}` })).toMatch(/^CapabilityDenied: .*no tool writes/)
      for (const [name, args] of [
        ['write', { content: '{}' }], ['edit', { old_string: 'a', new_string: 'b' }],
      ] as const) {
        expect(await run(name, { path: `${folder}/${path}`, ...args })).toMatch(
          /^WatchdogDenied: .*no tool writes.*Have the person change it/,
        )
      }
    }
    expect(await run('bash', { command: `echo '{}' > ${folder}/config.json` })).toMatch(/^WatchdogDenied/)
    await run('bash', { command: `for f in config.json; do mkdir -p ${folder}; echo '{}' > ${folder}/$f; done` })
    await host.close()
    // Without an operating system sandbox the shell could write it. Then the digest of the layer protects.
    expect(existsSync(join(workspace, folder))).toBe(!has('bubblewrap'))
  })
})

it('a tool writes files that other programs execute only if its pattern names them, and explain agrees', async () => {
  const { host, run, explain } = await open()
  mkdirSync(join(workspace, '.git/hooks'), { recursive: true })
  writeFileSync(join(workspace, '.git/config'), '[core]\n\tbare = false\n')
  writeFileSync(join(workspace, 'a.txt'), 'a')
  for (const path of [
    '.git/hooks/pre-commit', '.git/config', '.bashrc', 'sub/.envrc', '.vscode/tasks.json', '.idea/workspace.xml',
    `${workspace}/.git/config`,
  ]) {
    expect(await run('put', { path })).toMatch(
      /^CapabilityDenied: .*Declare a pattern in `requires.fs.write` that names it/,
    )
    for (const [name, args] of [
      ['write', { path, content: 'x' }], ['edit', { path, old_string: 'core', new_string: 'x' }],
      ['bash', { command: `echo x >> ${path}` }],
    ] as const) {
      expect(await run(name, args), `${name} ${path}`).toMatch(
        /^WatchdogDenied: .*is not written without being named.*Change it with a command/,
      )
      expect(await explain(name, args)).toMatchObject({ decision: 'deny', code: 'WatchdogDenied' })
    }
    expect((await explain('read', { path })).decision).toBe('allow')
  }
  expect(await run('write', { path: '.gitignore', content: 'x' })).toBe('done')
  await host.close()
  expect(existsSync(join(workspace, '.git/hooks/pre-commit'))).toBe(false)
})

it('git can commit through bash', { ...needs('git'), ...LONG }, async () => {
  const { host, run } = await open()
  execFileSync('git', ['init', '-q', workspace])
  expect(await run('write', { path: 'a.txt', content: 'a' })).toBe('done')
  const who = '-c user.name=me -c user.email=me@example.com'
  expect(await run('bash', { command: `git add a.txt && git ${who} commit -q -m first` })).toBe('done')
  await host.close()
  expect(execFileSync('git', ['-C', workspace, 'log', '--format=%s'], { encoding: 'utf8' })).toBe('first\n')
})

describe('the host\'s own code', () => {
  /** A workspace with this package installed, one dependency beside it, and one that Node only searches for. */
  function install(): string {
    const modules = join(workspace, 'app/node_modules')
    for (const [path, manifest] of [
      [join(modules, 'bulkhead'), { dependencies: { near: '1', far: '1' }, peerDependencies: { absent: '1' } }],
      [join(modules, 'near'), {}], [join(root, 'store/far'), { dependencies: { farther: '1' } }],
    ] as const) {
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, 'package.json'), JSON.stringify(manifest))
    }
    writeFileSync(join(modules, 'bulkhead/index.js'), '')
    execFileSync('ln', ['-s', join(root, 'store/far'), join(modules, 'far')])
    return join(modules, 'bulkhead/index.js')
  }

  it('includes every folder that Node would search first', async () => {
    const code = ownCode(install())
    const isOwn = (path: string) => code.some((folder) => path === folder || path.startsWith(`${folder}/`))
    const own = [
      'workspace/app/node_modules/bulkhead/index.js', 'workspace/app/node_modules/near/index.js',
      'workspace/app/node_modules/absent/index.js', 'workspace/node_modules/near/index.js',
      'workspace/app/node_modules/bulkhead/node_modules/near', 'store/far/index.js',
      'store/node_modules/farther/index.js',
    ]
    expect(own.filter((path) => !isOwn(join(root, path)))).toEqual([])
    const others = [
      'workspace/app/index.js', 'workspace/app/package.json', 'workspace/other/node_modules/near', 'store/other',
    ]
    expect(others.filter((path) => isOwn(join(root, path)))).toEqual([])
    expect(isOwn(process.execPath)).toBe(true)
  })

  it('cannot be written by a tool if the workspace contains it', async () => {
    // This repository contains the code that runs the test.
    workspace = realpathSync(join(import.meta.dirname, '../../..'))
    const { host, run, explain } = await open()
    const path = 'packages/host/src/index.ts'
    const before = readFileSync(join(workspace, path), 'utf8')
    for (const own of [path, 'node_modules/new-package/index.js', 'packages/sandbox/thread.cjs']) {
      expect(await run('put', { path: own })).toMatch(/^CapabilityDenied: .*no tool writes/)
      expect(await run('write', { path: own, content: 'x' })).toMatch(/^WatchdogDenied: .*no tool writes/)
      expect(await explain('write', { path: own, content: 'x' })).toMatchObject({ decision: 'deny' })
    }
    await host.close()
    expect(readFileSync(join(workspace, path), 'utf8')).toBe(before)
    workspace = join(root, 'workspace')
  })
})
