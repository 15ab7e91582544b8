import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import type { Shell } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { shellAccess } from '../../../sandbox/src/extension/capabilities.ts'
import { shellCapability } from '../../src/shell/shell.ts'
import { REDACTED } from '../../src/secrets/redaction.ts'
import { any, ShellSetup } from '../shell/shell-setup.ts'
import { callOf, codeOf, handleOf, SECRET, vaultOf } from './setup.ts'

let setup: ShellSetup
beforeEach(() => void (setup = new ShellSetup()))
afterEach(() => setup.clear())

interface Running {
  readonly shell: Shell
  readonly handle: string
  readonly updates: readonly Json[]
  close(): Promise<void>
}

async function running(commands: readonly string[]): Promise<Running> {
  const vault = vaultOf({ TOKEN: { commands: [...commands] } })
  const updates: Json[] = []
  const allowed = ['show', 'other', 'echo', 'cat', 'sh'].flatMap((cmd) => any(cmd))
  const call = callOf({ shell: allowed, fs: { write: [`${setup.workspace.slice(1)}/**`] } }, {
    onUpdate: (partial) => updates.push(partial),
  })
  const unit = shellCapability({
    workspace: setup.workspace, tools: [call.tool], path: [setup.bin, '/usr/bin', '/bin'], updateMs: 0, secrets: vault,
    choosesWalls: true,
  })
  const shell = shellAccess(async (method, ...args) =>
    await unit.capabilities[method]!(call, JSON.parse(JSON.stringify(args)) as Json[]))
  return { shell, handle: await handleOf(vault, call), updates, close: () => unit.close() }
}

describe('a command', () => {
  it('receives the value as argument or input, and its echo is redacted', async () => {
    // Prints the length and the letters, so that the test sees both.
    setup.node('show', `
      const input = require('node:fs').readFileSync(0, 'utf8')
      console.log(process.argv[2].length, process.argv[2])
      console.error(input.length, input)
    `)
    const { shell, handle, updates, close } = await running(['show'])
    const result = await shell.run('show', [`--token=${handle}`], { input: `password ${handle}` })
    expect(result.stdout).toBe(`${`--token=${SECRET}`.length} --token=${REDACTED}\n`)
    expect(result.stderr).toBe(`${`password ${SECRET}`.length} password ${REDACTED}\n`)
    expect(updates.length).toBeGreaterThan(0)
    expect(JSON.stringify(updates)).toContain(REDACTED)
    expect(JSON.stringify([result, updates])).not.toContain(SECRET)
    await close()
  })

  it('that writes it letter by letter is redacted, in live output too', async () => {
    setup.node('show', `
      const letters = [...process.argv[2]]
      const next = () => letters.length > 0 && process.stdout.write(letters.shift(), () => setTimeout(next, 1))
      next()
    `)
    const { shell, handle, updates, close } = await running(['show'])
    expect((await shell.run('show', [`<${handle}>`])).stdout).toBe(`<${REDACTED}>`)
    expect(updates.map((update) => (update as { text: string }).text).join('')).toBe(`<${REDACTED}>`)
    await close()
  })

  it('that the secret is not for is not redacted', async () => {
    const { shell, handle, close } = await running(['echo'])
    expect((await shell.run('echo', [SECRET])).stdout).toBe(`${SECRET}\n`)
    await shell.run('echo', [handle])
    expect((await shell.run('echo', [SECRET])).stdout).toBe(`${REDACTED}\n`)
    setup.sh('other', `echo ${SECRET}`)
    expect((await shell.run('other', [])).stdout).toBe(`${SECRET}\n`)
    expect((await shell.pipe([{ cmd: 'other', args: [] }, { cmd: 'cat', args: [] }])).stdout).toBe(`${SECRET}\n`)
    expect((await shell.pipe([{ cmd: 'echo', args: [SECRET] }, { cmd: 'cat', args: [] }])).stdout).toBe(`${REDACTED}\n`)
    await close()
  })

  it('that the secret is not for is denied its value', async () => {
    setup.sh('other', 'touch ran')
    const { shell, handle, close } = await running(['show'])
    expect(await codeOf(shell.run('other', [handle]))).toBe('CapabilityDenied')
    expect(await codeOf(shell.run('other', [], { input: handle }))).toBe('CapabilityDenied')
    await close()
  })

  it('does not see the secret of another command of its pipe', needs('bubblewrap'), async () => {
    const { shell, handle, close } = await running(['sh'])
    const looks = `grep -c '${SECRET.slice(0, -1)}[${SECRET.at(-1)}]' /proc/[0-9]*/cmdline | grep -v ':0$' | wc -l`
    const stages = [{ cmd: 'sh', args: ['-c', ':', handle] }, { cmd: 'sh', args: ['-c', `cat; ${looks}`] }]
    expect((await shell.pipe(stages, { wall: 'work' })).stdout.trim()).toBe('0')
    await close()
  })

  it('does not redirect its output into a file if it receives a secret', async () => {
    const { shell, handle, close } = await running(['echo'])
    const into = { path: 'kept.txt' }
    expect(await codeOf(shell.pipe([{ cmd: 'echo', args: [handle], stdout: into }]))).toBe('CapabilityDenied')
    expect(await codeOf(shell.pipe([{ cmd: 'echo', args: [handle] }, { cmd: 'cat', stdout: into }])))
      .toBe('CapabilityDenied')
    expect(await codeOf(shell.pipe([{ cmd: 'cat', input: handle, stderr: into }]))).toBe('CapabilityDenied')
    expect((await shell.pipe([{ cmd: 'echo', args: ['plain'], stdout: into }])).exits[0]!.exitCode).toBe(0)
    expect((await shell.pipe([{ cmd: 'echo', args: [handle] }, { cmd: 'cat' }])).stdout).toBe(`${REDACTED}\n`)
    await close()
  })

  it('that cannot be started does not reveal its arguments', async () => {
    setup.command('show', '#!/no/such/interpreter\n')
    const { shell, handle, close } = await running(['show'])
    // setpriv or prlimit reports it if they are in use, the system otherwise.
    const [outcome] = await Promise.allSettled([shell.run('show', [handle])])
    const shown = outcome.status === 'fulfilled' ? JSON.stringify(outcome.value) : (outcome.reason as Error).message
    expect(shown).toMatch(/"exitCode":[1-9]|could not be started/)
    expect(shown).not.toContain(SECRET)
    await close()
  })
})
