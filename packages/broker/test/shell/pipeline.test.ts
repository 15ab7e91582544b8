import {
  linkSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { BulkheadError } from '@bulkhead/contract'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { ShellSetup, starts } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const opened = () => setup.open(setup.everything())
const inWorkspace = (name: string): string => readFileSync(join(setup.workspace, name), 'utf8')

describe('a pipe', () => {
  it('connects each command to the next', async () => {
    const { shell } = opened()
    const result = await shell.pipe([
      { cmd: 'printf', args: ['b\\na\\nb\\n'] }, { cmd: 'sort' }, { cmd: 'uniq', args: ['-c'] },
    ])
    expect(result).toEqual({
      exits: [1, 2, 3].map(() => ({ exitCode: 0, signal: null })), stdout: '      1 a\n      2 b\n', stderr: '',
      truncated: false, timedOut: false,
    })
  })

  it('ends an endless writer when its reader ends', async () => {
    const { shell } = opened()
    const { stdout, exits } = await shell.pipe([{ cmd: 'yes' }, { cmd: 'head', args: ['-n', '2'] }])
    expect(stdout).toBe('y\ny\n')
    expect(exits).toEqual([{ exitCode: null, signal: 'SIGPIPE' }, { exitCode: 0, signal: null }])
  })

  it('carries more bytes than the output limit', LONG, async () => {
    const { shell } = opened()
    const { stdout } = await shell.pipe([
      { cmd: 'head', args: ['-c', '20000000', '/dev/zero'] }, { cmd: 'tr', args: ['\\0', '\\377'] },
      { cmd: 'wc', args: ['-c'] },
    ])
    expect(stdout.trim()).toBe('20000000')
  })

  it('reports the exit of each command and all of stderr', async () => {
    const { shell } = opened()
    setup.sh('fails', 'echo "$1 failed" >&2; exit "$1"')
    const { exits, stderr } = await shell.pipe([{ cmd: 'fails', args: ['3'] }, { cmd: 'fails', args: ['4'] }])
    expect(exits.map(({ exitCode }) => exitCode)).toEqual([3, 4])
    expect(stderr).toBe('3 failed\n4 failed\n')
  })

  it('passes arguments on unchanged, whatever a shell would do with them', async () => {
    const { shell } = opened()
    setup.sh('words', String.raw`printf '%s\0' "$@"`)
    const args = ['$(id)', '`id`', '; ls', '*', '', "'", '"$@"', '-c', '\n', '2>&1']
    for (const stderr of ['err', 'out'] as const) {
      const { stdout } = await shell.pipe([{ cmd: 'words', args, stderr }])
      expect(stdout.split('\0')).toEqual([...args, ''])
    }
  })

  it('is rejected as a whole if one command is denied or missing', async () => {
    const { shell } = setup.open({ shell: [{ cmd: 'echo', args: [{ rest: true }] }, { cmd: 'missing' }] })
    await expect(shell.pipe([{ cmd: 'echo', args: ['a', 'b'] }, { cmd: 'cat' }]))
      .rejects.toMatchObject({ code: 'CapabilityDenied' })
    await expect(shell.pipe([{ cmd: 'echo' }, { cmd: 'missing' }])).rejects.toMatchObject({ code: 'NotFound' })
    await expect(shell.pipe([])).rejects.toMatchObject({ code: 'InputInvalid' })
  })
})

describe('redirection', () => {
  const both = 'echo out; echo err >&2'
  it('sends output where it is asked to', async () => {
    const cases = [
      ['as written', {}, 'out\n', 'err\n'],
      ['both to stdout', { stderr: 'out' }, 'out\nerr\n', ''],
      ['both to stderr', { stdout: 'err' }, '', 'out\nerr\n'],
      ['swapped', { stdout: 'err', stderr: 'out' }, 'err\n', 'out\n'],
      ['both discarded', { stdout: 'nothing', stderr: 'nothing' }, '', ''],
      ['stderr alone', { stdout: 'nothing', stderr: 'out' }, 'err\n', ''],
    ] as const
    const { shell } = opened()
    setup.sh('both', both)
    for (const [name, where, stdout, stderr] of cases) {
      expect(await shell.pipe([{ cmd: 'both', ...where }]), name).toMatchObject({ stdout, stderr })
      if ('stdout' in where) continue
      expect(await shell.pipe([{ cmd: 'both', ...where }, { cmd: 'cat' }]), name).toMatchObject({ stdout, stderr })
    }
  })

  it('sends output into files, truncated or appended, relative to the working folder', async () => {
    const { shell } = opened()
    setup.sh('both', both)
    mkdirSync(join(setup.workspace, 'sub'))
    writeFileSync(join(setup.workspace, 'sub/out'), 'something that was longer before\n')
    await shell.pipe([{ cmd: 'both', stdout: { path: 'out' }, stderr: { path: 'log', append: true } }], { cwd: 'sub' })
    await shell.pipe([{ cmd: 'both', stdout: { path: 'sub/out', append: true }, stderr: 'nothing' }])
    await shell.pipe([{ cmd: 'both', stdout: { path: 'all' }, stderr: { path: 'all' } }])
    await shell.pipe([
      { cmd: 'both', stdout: { path: 'only' }, stderr: 'out' },
      { cmd: 'tr', args: ['a-z', 'A-Z'], stdout: { path: 'errors' } },
    ])
    expect([inWorkspace('sub/out'), inWorkspace('sub/log'), inWorkspace('all')])
      .toEqual(['out\nout\n', 'err\n', 'out\nerr\n'])
    expect([inWorkspace('only'), inWorkspace('errors')]).toEqual(['out\n', 'ERR\n'])
  })

  it('takes input from a string or a file', async () => {
    const { shell } = opened()
    writeFileSync(join(setup.workspace, 'in'), 'from a file')
    expect((await shell.pipe([{ cmd: 'cat', input: 'a text' }])).stdout).toBe('a text')
    expect((await shell.pipe([{ cmd: 'cat', input: { path: 'in' } }])).stdout).toBe('from a file')
    expect((await shell.pipe([{ cmd: 'cat' }])).stdout).toBe('')
  })

  it.each([
    '../outside', '/etc/passwd', 'link', 'up/x', 'twin', '.', '/proc/self/mem',
  ])('is denied to and from %s', async (path) => {
    const { shell } = opened()
    const outside = join(setup.root, 'outside')
    writeFileSync(outside, 'precious')
    symlinkSync(outside, join(setup.workspace, 'link'))
    symlinkSync(setup.root, join(setup.workspace, 'up'))
    linkSync(outside, join(setup.workspace, 'twin'))
    writeFileSync(join(setup.workspace, 'kept'), 'kept')
    await expect(shell.pipe([{ cmd: 'echo', stdout: { path: 'kept' }, stderr: { path } }])).rejects.toMatchObject({
      code: expect.stringMatching(/CapabilityDenied|InputInvalid/) as string,
    })
    if (path !== 'twin') {
      await expect(shell.pipe([{ cmd: 'cat', input: { path } }]))
        .rejects.toMatchObject({ code: expect.stringMatching(/CapabilityDenied|InputInvalid/) as string })
    }
    expect([readFileSync(outside, 'utf8'), inWorkspace('kept')]).toEqual(['precious', 'kept'])
  })
})

describe('the end of a pipe', () => {
  it('by its timeout keeps the output so far', async () => {
    const { shell } = opened()
    setup.sh('slow', 'echo begun; exec sleep 600')
    const result = await shell.pipe([{ cmd: 'slow' }, { cmd: 'cat' }], { timeoutMs: 1_500 })
    expect(result).toMatchObject({ timedOut: true, stdout: 'begun\n' })
    expect(result.exits[0]).toEqual({ exitCode: null, signal: 'SIGTERM' })
  })

  it('by cancellation ends all commands and their children', async () => {
    const lines = setup.lifelines()
    setup.sh('first', lines.hold('first'))
    const grandchild = setup.sh('grandchild', lines.hold('grandchild'))
    setup.sh('second', `${starts(grandchild, 'session')} ${lines.hold('second')}`)
    const { shell, cancel, capability } = opened()
    const running = shell.pipe([{ cmd: 'first' }, { cmd: 'second' }])
    const all = await Promise.all(['first', 'second', 'grandchild'].map((label) => lines.of(label)))
    const reason = new BulkheadError('ToolCancelled', 'enough')
    cancel(reason)
    await expect(running).rejects.toBe(reason)
    await capability.close()
    await Promise.all(all.map(({ died }) => died))
  })

  it('does not wait for a grandchild that holds the pipe', async () => {
    const lines = setup.lifelines()
    const holder = setup.sh('holder', lines.hold('holder'))
    setup.sh('leaves', `${starts(holder, 'session')} echo left`)
    const { shell } = opened()
    expect(await shell.pipe([{ cmd: 'leaves' }])).toMatchObject({ stdout: 'left\n', exits: [{ exitCode: 0 }] })
  })
})

describe('the command sandbox', needs('bubblewrap'), () => {
  const probe = async (kind: 'look' | 'work', isolated = false): Promise<readonly string[]> => {
    const outside = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-outside-')))
    setup.sh('probe', `
      echo x > inside 2>/dev/null && echo inside
      echo x > ${outside}/file 2>/dev/null && echo outside
      [ -e ${outside} ] && echo visible
      [ "$(ls /proc/sys/net/ipv4/conf 2>/dev/null | wc -l)" -gt 3 ] && echo network
      exit 0`)
    try {
      const { stdout } = await setup.open(setup.everything(), { path: [setup.bin, '/usr/bin', '/bin'] }).shell.pipe(
        [{ cmd: 'sh', args: ['-c', readFileSync(join(setup.bin, 'probe'), 'utf8')] }], { wall: kind, isolated },
      )
      return stdout.trim().split('\n').filter((line) => line !== '')
    } finally {
      rmSync(outside, { recursive: true })
    }
  }

  const isWrite = (line: string): boolean => ['inside', 'outside'].includes(line)

  it('allows no writes, or writes to the workspace only', async () => {
    const [none, read, work] = [await probe('work').catch(() => []), await probe('look'), await probe('work')]
    expect(none).toEqual(work)
    const writes = [...read.filter(isWrite), '/', ...work.filter(isWrite)]
    expect(writes).toEqual(['/', 'inside'])
  })

  it('hides other folders and the network from an isolated command', async () => {
    const [read, work] = [await probe('look', true), await probe('work', true)]
    expect([read, work]).toEqual([[], ['inside']])
  })
})
