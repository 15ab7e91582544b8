import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { running, temporaryFolder } from './fixture.ts'

const HOST = fileURLToPath(new URL('./fixtures/flagged-host.ts', import.meta.url))

/** The results of a compartment in a process and in a thread, in a host that was started with these flags. */
async function hosted(
  flags: readonly string[], body: string, env: NodeJS.ProcessEnv = {}, os: 'auto' | 'off' = 'auto',
): Promise<readonly unknown[]> {
  const args = ['--no-warnings', ...flags, HOST, running(body), os]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })
  return JSON.parse(stdout) as unknown[]
}

describe('a host started with Node flags', () => {
  it('that add globals or preload a module passes none of that to a compartment', LONG, async () => {
    const preload = join(await temporaryFolder(), 'preload.cjs')
    await writeFile(preload, 'globalThis.preloaded = process.getBuiltinModule("node:fs")')
    const NODE_OPTIONS =
      `--require=${preload} --import=${preload} --inspect=0 --max-old-space-size=400 --enable-source-maps`
    const flags = ['gc', 'externalize-string', 'trigger-failure', 'internals'].map((name) => `--expose-${name}`)
    const body = `
      const names = ['gc', 'externalizeString', 'triggerCheckFalse', 'ShadowRealm', 'preloaded']
      const there = names.filter((name) => globalThis[name] !== undefined)
      return [...there, await import('internal/bootstrap/realm').then(() => 'internal', () => 'none')]
    `
    expect(await hosted([...flags, '--harmony-shadow-realm'], body, { NODE_OPTIONS })).toEqual([['none'], ['none']])
  })

  it('that expose functions of V8 refuses threads and still runs processes', LONG, async () => {
    const body = "try { return Function('return %IsSmi(0)')() } catch { return 'no' }"
    const [inProcess, inThread] = await hosted(['--allow-natives-syntax'], body, {}, 'off')
    expect(inProcess).toBe('no')
    expect(inThread).toEqual({ code: 'LockdownFailed', message: expect.stringContaining('--allow-natives-syntax') })
  })

  it('that restrict it runs both, and without the right to start processes names it', LONG, async () => {
    // From the sources, a host bundles the code of compartments with an addon.
    const rights = [
      '--permission', '--allow-fs-read=*', '--allow-worker', '--allow-child-process', '--allow-addons',
    ]
    const [inProcess, inThread, refused, stillInThread, limits] = await hosted(rights, 'return 1')
    expect([inProcess, inThread, stillInThread]).toEqual([1, 1, 1])
    expect(refused).toEqual({
      code: 'CompartmentStartFailed',
      message: expect.stringMatching(/^No process could be started for example: .*--allow-child-process/),
    })
    expect(limits).toEqual({ active: false, reason: expect.stringContaining('--allow-child-process') })
  })
})
