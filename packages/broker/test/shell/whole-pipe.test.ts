import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { Shell } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { has, WALLS } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { processTable } from '../../src/process/run-processes.ts'
import { commandWalls } from '../../src/shell/starter.ts'
import { ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const opened = () => setup.open(setup.everything())
const inWorkspace = (name: string): string => readFileSync(join(setup.workspace, name), 'utf8')
const commandLine = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

const { work, network } = await commandWalls(setup.workspace, undefined)
const WALLED = { ...WALLS, ...runsIf(work && has('bash'), 'needs bubblewrap or Landlock, and bash') }

describe('a pipe behind a wall', WALLED, () => {
  const behind = (...[stages, options]: Parameters<Shell['pipe']>) =>
    opened().shell.pipe(stages, { wall: 'work', ...options })
  const sh = (script: string, ...args: readonly string[]) => ({ cmd: 'sh', args: ['-c', script, 'sh', ...args] })
  const exited = (exitCode: number) => ({ exitCode, signal: null })
  const killed = (signal: string) => ({ exitCode: null, signal })

  it('has one wall around all its commands', async () => {
    const place = 'cat; echo "$(readlink /proc/self/ns/pid) $(cut -d " " -f 6 /proc/self/stat)"'
    const { stdout, wall } = await behind([sh(place), sh(place), sh(place)])
    const places = stdout.trim().split('\n')
    expect([wall, places.length, new Set(places).size]).toEqual(['work', 3, 1])
  })

  it('reports how each command ended', async () => {
    const { exits } = await behind([
      { cmd: 'yes' }, { cmd: 'head', args: ['-n', '2'] }, sh('cat; exit 7'), sh('kill -KILL $$'), sh('exit 129'),
    ])
    expect(exits).toEqual([killed('SIGPIPE'), exited(0), exited(7), killed('SIGKILL'), exited(129)])
  })

  it('adds nothing to stderr, and hides its descriptors from the commands', LONG, async () => {
    const list = sh('cat; cd /proc/self/fd; echo *')
    const files = { stdout: { path: 'a' }, stderr: { path: 'b' } } as const
    const alone = await behind([list])
    const { stdout, stderr, exits } = await behind([{ ...sh('kill -TERM $$'), ...files }, list, list])
    expect([stdout, stderr, exits[0]]).toEqual([alone.stdout.repeat(2), '', killed('SIGTERM')])
  })

  it('passes arguments and bytes on unchanged', LONG, async () => {
    const args = ['$(id)', '`id`', '; ls', '*', '', "'", '"$@"', '-c', '\n', '2>&1', '${1}', 'a'.repeat(100_000)]
    const { stdout } = await behind([sh(String.raw`printf '%s\0' "$@"`, ...args), { cmd: 'cat' }])
    expect(stdout.split('\0')).toEqual([...args, ''])
    const many = sh('cat; echo $#', ...Array.from({ length: 1_000 }, () => 'a'.repeat(100)))
    expect((await behind([many, many, many])).stdout).toBe('1000\n'.repeat(3))
    const bytes = [{ cmd: 'head', args: ['-c', '3000000', '/dev/zero'] }, { cmd: 'tr', args: ['\\0', '\\377'] }]
    const open = await opened().shell.pipe([...bytes, { cmd: 'cksum' }])
    expect((await behind([...bytes, { cmd: 'cksum' }])).stdout).toBe(open.stdout)
  })

  it('connects 32 commands, each with files of its own', LONG, async () => {
    const stages = Array.from({ length: 32 }, (_, index) =>
      ({ ...sh(`cat; echo ${index}; echo error ${index} >&2`), stderr: { path: `errors-${index}` } }))
    const { stdout, exits } = await behind([{ ...stages[0]!, input: 'first\n' }, ...stages.slice(1)])
    expect(stdout).toBe(['first', ...stages.keys(), ''].join('\n'))
    expect(exits).toEqual(stages.map(() => exited(0)))
    expect([...stages.keys()].map((index) => inWorkspace(`errors-${index}`))).toEqual(
      [...stages.keys()].map((index) => `error ${index}\n`))
  })

  it('sends output where it is asked to', LONG, async () => {
    const both = sh('echo out; echo err >&2')
    writeFileSync(join(setup.workspace, 'in'), 'from a file\n')
    writeFileSync(join(setup.workspace, 'log'), 'before\n')
    const log = { path: 'log', append: true }
    const cases = [
      [[{ ...both, stderr: 'out' }, { cmd: 'cat' }], 'out\nerr\n', ''],
      [[{ ...both, stdout: 'err', stderr: 'out' }, { cmd: 'cat' }], 'err\n', 'out\n'],
      [[{ ...both, stdout: 'nothing', stderr: 'out' }, { cmd: 'cat' }], 'err\n', ''],
      [[{ ...both, stdout: log, stderr: 'out' }, { cmd: 'cat' }], 'err\n', ''],
      [[{ ...both, stdout: log, stderr: log }, { cmd: 'cat' }], '', ''],
      [[{ cmd: 'cat', input: { path: 'in' } }, { cmd: 'cat', stdout: log }], '', ''],
      [[{ cmd: 'cat', input: 'text' }, { ...sh('cat; echo err >&2'), stdout: 'err', stderr: 'nothing' }], '', 'text'],
    ] as const
    for (const [stages, stdout, stderr] of cases) expect(await behind(stages)).toMatchObject({ stdout, stderr })
    expect(inWorkspace('log')).toBe('before\nout\nout\nerr\nfrom a file\n')
  })

  it('ends for a command when the one before closes its output, or the one after its input', async () => {
    const waits = 'while [ ! -e done ]; do sleep 0.01; done'
    expect((await behind([sh(`echo a; exec >&-; ${waits}`), sh('cat; : > done')])).stdout).toBe('a\n')
    rmSync(join(setup.workspace, 'done'))
    const { exits } = await behind([sh('yes; : > done'), sh(`exec <&-; ${waits}`)])
    expect(exits).toEqual([exited(0), exited(0)])
  })

  it('leaves signals and variables of a shell alone', async () => {
    const env = { BASH_ENV: './hook', 'BASH_FUNC_echo%%': '() { : > hooked; }', SHELLOPTS: 'xtrace' }
    writeFileSync(join(setup.workspace, 'hook'), ': > hooked')
    const { shell } = setup.open(setup.everything(), { operator: { path: ['/usr/bin', '/bin'], env } })
    const { stdout, stderr } = await shell.pipe(
      [sh('grep SigIgn /proc/self/status; echo $BASH_ENV'), { cmd: 'cat' }], { wall: 'work' },
    )
    expect([stdout, stderr]).toEqual(['SigIgn:\t0000000000000000\n./hook\n', ''])
    expect(existsSync(join(setup.workspace, 'hooked'))).toBe(false)
  })

  it('ends by its timeout with all its processes, and keeps the output so far', async () => {
    const stages = [sh('echo begun; exec sleep 600'), { cmd: 'cat' }]
    const { stdout, timedOut, exits } = await behind(stages, { timeoutMs: 1_500 })
    expect([stdout, timedOut, exits]).toEqual(['begun\n', true, [killed('SIGTERM'), killed('SIGTERM')]])
  })

  it('ends by cancellation with all its processes', LONG, async () => {
    const { shell, cancel, capability } = opened()
    const mark = `600.${randomInt(2 ** 40)}`
    const held = sh(`setsid sleep ${mark} & : > "$1"; exec sleep ${mark}`, 'first')
    const running = shell.pipe([held, sh(`: > "$1"; exec sleep ${mark}`, 'second')], { wall: 'work' })
    await expect.poll(() => ['first', 'second'].every((name) => existsSync(join(setup.workspace, name)))).toBe(true)
    const reason = new BulkheadError('ToolCancelled', 'enough')
    cancel(reason)
    await expect(running).rejects.toBe(reason)
    await capability.close()
    const left = ((await processTable()) ?? []).filter(({ pid }) => commandLine(pid).includes(mark))
    expect(left).toEqual([])
  })

  it('has its descriptors beside a relay, too', runsIf(network, 'needs a network of its own'), async () => {
    const first = { ...sh('echo out; echo err >&2; exit 3'), stdout: { path: 'file' }, stderr: 'out' } as const
    const { stdout, exits } = await behind([first, { cmd: 'cat' }], { hosts: ['127.0.0.1:1'] })
    expect([stdout, exits, inWorkspace('file')]).toEqual(['err\n', [exited(3), exited(0)], 'out\n'])
  })
})
