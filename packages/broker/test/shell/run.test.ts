import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { BulkheadError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import type { OpenCall } from '../../src/model/capability.ts'
import { any, ShellSetup } from './shell-setup.ts'

const setup = new ShellSetup()
afterAll(() => setup.clear())
const MB = 1024 * 1024

describe('the result of a command', () => {
  it.each([0, 1, 42, 255])('has the exit code %d', async (code) => {
    setup.sh('ends', 'exit "$1"')
    const { shell } = setup.open({ shell: any('ends') })
    const ended = await shell.run('ends', [String(code)])
    expect(ended).toEqual({ exitCode: code, signal: null, stdout: '', stderr: '', truncated: false })
  })

  it.each(['SIGTERM', 'SIGKILL', 'SIGSEGV'])('has the signal %s', async (signal) => {
    setup.sh('falls', 'kill -s "$1" $$')
    const { shell } = setup.open({ shell: any('falls') })
    expect(await shell.run('falls', [signal.slice(3)])).toMatchObject({ exitCode: null, signal })
  })

  it('reports a script whose interpreter is missing', async () => {
    setup.command('broken', '#!/nowhere/interpreter\n')
    const { shell } = setup.open({ shell: any('broken') })
    // setpriv or prlimit reports it by exit code if they are in use, the system by an error otherwise.
    const ended = await shell.run('broken')
      .then(({ exitCode }) => exitCode, (error: unknown) => (error as BulkheadError).code)
    expect([127, 'ToolExecutionFailed']).toContain(ended)
  })
})

describe('input', () => {
  it('reaches the command unchanged and then ends', async () => {
    const { shell } = setup.open({ shell: any('cat') }, { outputBytes: MB })
    const input = `first\n\0\u{1f6a2}${'x'.repeat(300_000)}last`
    const { exitCode, stdout } = await shell.run('cat', [], { input })
    expect({ exitCode, same: stdout === input }).toEqual({ exitCode: 0, same: true })
  })

  it('is empty by default', async () => {
    const { shell } = setup.open({ shell: any('wc') })
    expect((await shell.run('wc', ['-c'])).stdout.trim()).toBe('0')
    expect((await shell.run('wc', ['-c'], { input: '' })).stdout.trim()).toBe('0')
  })

  it('may stay unread', async () => {
    const { shell } = setup.open({ shell: any('true') })
    expect(await shell.run('true', [], { input: 'x'.repeat(MB) })).toMatchObject({ exitCode: 0 })
  })

  it('cannot come from a terminal', async () => {
    setup.sh('asks', 'read -r answer </dev/tty || echo no terminal')
    const { shell } = setup.open({ shell: any('asks') })
    expect((await shell.run('asks')).stdout).toBe('no terminal\n')
  })
})

describe('output', () => {
  it('is separate for stdout and stderr', async () => {
    setup.sh('both', 'echo out; echo err >&2')
    const { shell } = setup.open({ shell: any('both') })
    expect(await shell.run('both')).toMatchObject({ stdout: 'out\n', stderr: 'err\n' })
  })

  it('is truncated at the limit of each stream and marked as truncated', async () => {
    setup.sh('much', 'head -c 300000 /dev/zero | tr "\\\\0" o; printf eeeeeeeeee >&2')
    const { shell } = setup.open({ shell: any('much') }, { outputBytes: 1_000 })
    const kept = { stdout: 'o'.repeat(1_000), stderr: 'e'.repeat(10), truncated: true }
    expect(await shell.run('much')).toEqual({ exitCode: 0, signal: null, ...kept })
  })

  it('of exactly the limit is not truncated', async () => {
    const { shell } = setup.open({ shell: any('head') }, { outputBytes: 1_000 })
    expect(await shell.run('head', ['-c', '1000', '/dev/zero']))
      .toMatchObject({ stdout: '\0'.repeat(1_000), truncated: false })
  })

  it('has a default limit of 200 KB per stream', async () => {
    setup.sh('floods', 'head -c 500000 /dev/zero; head -c 500000 /dev/zero >&2')
    const { stdout, stderr } = await setup.open({ shell: any('floods') }).shell.run('floods')
    expect([stdout.length, stderr.length]).toEqual([200 * 1024, 200 * 1024])
  })

  it('without end uses bounded memory', LONG, async () => {
    const { shell } = setup.open({ shell: any('head') })
    const before = process.memoryUsage.rss()
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss())
    }, 5)
    const { exitCode, stdout } = await shell.run('head', ['-c', String(thoroughly(160, 1_024) * MB), '/dev/zero'])
    clearInterval(watch)
    expect({ exitCode, kept: stdout.length }).toEqual({ exitCode: 0, kept: 200 * 1024 })
    expect(Math.max(peak, process.memoryUsage.rss()) - before).toBeLessThan(128 * MB)
  })

  it('is not read while what came before is saved, and is saved whole', LONG, async () => {
    const [count, tail] = [thoroughly(40, 400), 'end\n']
    setup.sh('pours', `head -c ${count}000000 /dev/zero; head -c ${count}000000 /dev/zero >&2; printf 'end\\n'`)
    let [bytes, open, most] = [0, 0, 0]
    const wholeOutput = () => ({
      leaveOut: () => undefined,
      add: async (_source: string, part: Uint8Array) => {
        bytes += part.length
        most = Math.max(most, ++open)
        await new Promise(setImmediate)
        open--
      },
    })
    const { shell } = setup.open({ shell: any('pours') }, { outputBytes: 1_000, wholeOutput, isBundled: true })
    const { stdout, truncated } = await shell.pipe([{ cmd: 'pours' }], { save: true })
    expect({ bytes, truncated }).toEqual({ bytes: 2_000_000 * count + tail.length, truncated: true })
    expect(stdout.endsWith(tail)).toBe(true)
    // One part of each stream.
    expect(most).toBeLessThanOrEqual(2)
  })

  it('is saved of stderr alone, if the tool wants that', async () => {
    setup.sh('talks', 'echo out; echo err >&2')
    const saved: string[] = []
    const wholeOutput = () => ({
      leaveOut: () => undefined,
      add: (source: string, part: Uint8Array) => void saved.push(`${source}: ${Buffer.from(part).toString()}`),
    })
    const { shell } = setup.open({ shell: any('talks') }, { wholeOutput, isBundled: true })
    expect(await shell.pipe([{ cmd: 'talks' }], { save: 'stderr' })).toMatchObject({ stdout: 'out\n', stderr: 'err\n' })
    expect(saved).toEqual(['stderr: err\n'])
  })

  it('that is not UTF-8 contains replacement characters', async () => {
    setup.sh('bytes', String.raw`printf 'a\377b\303'`)
    expect((await setup.open({ shell: any('bytes') }).shell.run('bytes')).stdout).toBe('a\ufffdb\ufffd')
  })

  it('is complete if the command ends at once', LONG, async () => {
    setup.sh('quick', 'echo "$1"')
    const { shell } = setup.open({ shell: any('quick') })
    for (let time = 0; time < thoroughly(4, 100); time++) expect((await shell.run('quick', [String(time)])).stdout)
      .toBe(`${time}\n`)
  })
})

describe('live output', () => {
  it('arrives while the command runs', async () => {
    // The command continues only after its first line has arrived.
    setup.sh('waits', 'mkfifo gate; echo first; read -r go <gate; echo "$go" >&2')
    const received: Json[] = []
    let answered: Promise<void> | undefined
    const onUpdate: OpenCall['onUpdate'] = (partial) => {
      received.push(partial)
      answered ??= writeFile(join(setup.workspace, 'gate'), 'second\n')
    }
    const { shell } = setup.open({ shell: any('waits') }, {}, { onUpdate })
    await shell.run('waits')
    await answered
    expect(received).toEqual([
      { type: 'shell.output', run: 1, stream: 'stdout', text: 'first\n' },
      { type: 'shell.output', run: 1, stream: 'stderr', text: 'second\n' },
    ])
  })

  it('is throttled and equals the output of the result', async () => {
    setup.sh('chatters', 'i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done')
    const { shell, updates } = setup.open({ shell: any('chatters') }, { outputBytes: 20_000, updateMs: 10_000 })
    const { stdout } = await shell.run('chatters')
    expect(updates).toEqual([{ type: 'shell.output', run: 1, stream: 'stdout', text: stdout }])
    expect(stdout).toHaveLength(20_000)
  })
})
