import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, Diagnostic } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, type TestOptions } from 'vitest'
import { lookWall } from '../../broker/src/index.ts'
import { needs, withoutBubblewrap } from '../../../scripts/machine.ts'
import { runsIf } from '../../../scripts/skips.ts'
import { LONG, ONLY_IN_SOAK, thoroughly } from '../../../scripts/thoroughly.ts'
import type { Check } from '../src/cli/system/doctor-check.ts'
import { BUNDLED } from './bundled.ts'
import { shareVerified } from './cache.ts'
import type { Ran } from './command.ts'
import { NO_NPM } from './no-npm.ts'
import { writeExtension } from './extension-folder.ts'

/** Undefined where this user may not hide bubblewrap. */
const HIDDEN = withoutBubblewrap()

const call = (tool: string, args: object = {}): readonly string[] => [
  'call', tool, '--mode', 'yolo', '--args', JSON.stringify(args),
]
const SHELL = ['ls', 'touch made', 'for i in 1; do touch made; done'].map((command) => ['bash', { command }] as const)
/** What `sandbox.os: "require"` refuses unless the launcher works. */
const CONFINED = [['hello', {}], ...thoroughly([], SHELL)] as const

/** What replaces bubblewrap here. */
const isLaunching = (await lookWall()).stands
const LINE = isLaunching ? 'tools: permission model, prlimit, launcher, seccomp; commands: launcher; servers: launcher'
  : 'tools: permission model, prlimit; commands: nothing; servers: refused'
const INSTEAD = isLaunching ? 'Instead, the launcher' : 'Instead, setpriv'

let folder: string
let ran: Readonly<Record<string, Ran>>

/** A home folder with a third-party tool. */
function writeHome(name: string, config: ConfigFile): string {
  const home = join(folder, name)
  mkdirSync(home)
  writeExtension(
    home, { id: 'hello', tools: [{ name: 'hello' }] }, 'export default { tools: { hello: { execute: () => "hi" } } }',
  )
  writeFileSync(
    join(home, 'config.json'), JSON.stringify({ ...config, sandbox: { spares: { process: 0 }, ...config.sandbox } }),
  )
  shareVerified(home)
  return home
}

// Hides it by itself, so `pnpm walls` need not run it.
describe(
  'on a machine without bubblewrap',
  { ...needs('Linux'), ...runsIf(HIDDEN !== undefined, 'needs private mounts'), ...LONG },
  () => {
    /** All commands share a process, because hiding bubblewrap and loading the command take most of the time. */
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'bulkhead-walls-'))
      writeFileSync(join(folder, 'note.txt'), 'hi')
      const home = ['--home', writeHome('home', {})]
      const requiring = ['--json', '--home', writeHome('requiring', { sandbox: { os: 'require' } })]
      const commands = {
        'hello': [...call('hello'), ...home], 'read': [...call('read', { file_path: 'note.txt' }), ...home],
        'bash': [...call('bash', { command: 'ls' }), ...home], 'tools': ['tools', '--json', ...home],
        'untried': ['tools', ...home], 'doctor': ['doctor', '--json', ...home], 'tried': ['tools', ...home],
        'tried, as JSON': ['tools', '--powers', '--json', ...home], 'requiring': ['doctor', ...requiring],
        ...Object.fromEntries(
          CONFINED.map(([tool, args]) => [JSON.stringify([tool, args]), [...call(tool, args), ...requiring]]),
        ),
      }
      const script = join(import.meta.dirname, 'fixtures/commands.ts')
      const [program = '', ...argv] = [...HIDDEN!, process.execPath, ...BUNDLED, script, JSON.stringify(commands)]
      const { PATH, NODE_COMPILE_CACHE } = process.env
      const env = { NO_COLOR: '1', HOME: join(folder, 'home'), PATH, NODE_COMPILE_CACHE }
      const { stdout, stderr } = spawnSync(program, argv, { cwd: folder, encoding: 'utf8', env })
      expect(stderr).toBe('')
      ran = JSON.parse(stdout) as typeof ran
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    it('a call of a third-party tool names the missing protection and its replacement in one line', () => {
      const { code, stdout, stderr } = ran['hello']!
      expect([code, stdout]).toEqual([0, 'hi\n'])
      expect(stderr).toMatch(
        /^Warning: Third-party tools run without bubblewrap \(bwrap is not installed\).*\. .*Install bubblewrap.*\n$/,
      )
      expect(stderr).toContain(INSTEAD)
    })

    it('a call of a bundled tool that starts no process does not warn', () => {
      expect(ran['read']).toMatchObject({ code: 0, stderr: '' })
    })

    it('a command that would be sandboxed warns only if Landlock does not confine it either', async () => {
      const { code, stderr } = ran['bash']!
      expect(code).toBe(0)
      const { stands } = await lookWall()
      expect(stderr).toMatch(stands ? /^$/ : /^Warning: Commands run without a sandbox, .*\n$/)
    })

    it('the list of tools has a diagnostic', () => {
      const { diagnostics } = JSON.parse(ran['tools']!.stdout) as { readonly diagnostics: readonly Diagnostic[] }
      expect(diagnostics.filter(({ stage }) => stage !== 'lock')).toMatchObject([
        {
          severity: 'warning', code: 'CapabilityUnavailable', path: '/sandbox/os',
          message: expect.stringMatching(/^Third-party tools run without bubblewrap/),
        },
      ])
    })

    it('doctor reports the same, with what it costs', () => {
      const walls = (name: string) =>
        (JSON.parse(ran[name]!.stdout) as { readonly checks: readonly Check[] }).checks.filter(
          (check) => check.status !== 'ok' && /^(?:process|commands): /.test(check.name),
        )
      expect(walls('doctor').map(({ name, status }) => `${status} ${name}`)).toEqual([
        'warning process: bwrap', ...(isLaunching ? [] : ['warning process: launcher', 'warning process: seccomp']),
        'warning commands: bwrap',
      ])
      const { checks } = JSON.parse(ran['doctor']!.stdout) as { readonly checks: readonly Check[] }
      expect(checks.find(({ name }) => name === 'walls')?.found).toBe(LINE)
      expect(walls('doctor')[0]).toMatchObject({
        found: expect.stringContaining('bwrap is not installed'), cost: expect.stringContaining(INSTEAD),
        cure: expect.stringContaining('Install bubblewrap'),
      })
      expect([ran['doctor']!.code, ran['requiring']!.code, walls('requiring')[0]?.status]).toEqual(
        isLaunching ? [0, 0, 'warning'] : [0, 1, 'problem'],
      )
    })

    it('the list of tools repeats what doctor has found, and says before that nothing was tried', () => {
      const lines = (name: string) => ran[name]!.stdout.split('\n').filter((line) => line.startsWith('Walls'))
      const walls = (name: string) => (JSON.parse(ran[name]!.stdout) as { readonly walls: unknown }).walls
      expect([lines('untried'), walls('tools')]).toEqual([
        ['Walls were not tried yet on this machine: "bulkhead doctor" tries them.'], null,
      ])
      expect([lines('tried'), walls('tried, as JSON')]).toEqual([
        [`Walls around ${LINE} (when last tried: "bulkhead doctor" tries them again)`], LINE,
      ])
    })

    it.each(CONFINED)('sandbox.os "require" runs %s %j behind the launcher, or not at all', (tool, args) => {
      const { code, stdout } = ran[JSON.stringify([tool, args])]!
      if (isLaunching) return expect(code).toBe(0)
      expect([code, JSON.parse(stdout)]).toMatchObject([1, { error: { code: 'CapabilityUnavailable' } }])
      expect(existsSync(join(folder, 'made'))).toBe(false)
    })
  },
)

describe.each([
  [
    'with bubblewrap', needs('bubblewrap'), [],
    'tools: permission model, prlimit, bwrap, seccomp; commands: bwrap; servers: bwrap',
  ],
  ['without bubblewrap', runsIf(HIDDEN !== undefined, 'needs private mounts'), HIDDEN ?? [], LINE],
] as const)('%s', (_, condition, prefix, line) => {
  /** Resolves when the command has printed the line, on standard output or error. */
  async function seeLine(...args: readonly string[]): Promise<void> {
    const cwd = mkdtempSync(join(tmpdir(), 'bulkhead-walls-'))
    writeExtension(
      cwd, { id: 'hello', tools: [{ name: 'hello' }] }, 'export default { tools: { hello: { execute: () => "hi" } } }',
    )
    const bin = join(import.meta.dirname, '../src/bin.ts')
    const [program = '', ...argv] = [...prefix, process.execPath, ...BUNDLED, bin, ...args]
    const { PATH, NODE_COMPILE_CACHE } = process.env
    const child = spawn(program, argv, {
      cwd, env: { NO_COLOR: '1', HOME: join(cwd, 'home'), PATH, NODE_COMPILE_CACHE, ...NO_NPM },
    })
    const closed = once(child, 'close')
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await closed
      rmSync(cwd, { recursive: true })
    })
    await expect.poll(() => printed.split('\n'), { timeout: 20_000 }).toContain(`Walls around ${line}`)
  }

  // mcp-command.test.ts sees the line of a server in `npm test`. Loading the command takes most of the time.
  const options = thoroughly<TestOptions>(ONLY_IN_SOAK, condition)
  it('a server over HTTP says it once it is known', options, () => seeLine('mcp', '--http', '--port', '0'))
  it('a workbench says it once it is known', options, () => seeLine('dev', 'tools/hello'))
})
