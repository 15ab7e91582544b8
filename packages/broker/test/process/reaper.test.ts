import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { isTemporaryName } from '../../src/fs/write-file.ts'
import { temporaryFolder } from '../fixture.ts'
import { ShellSetup, starts } from '../shell/shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const fixture = (path: string): string => join(import.meta.dirname, path)

describe('after SIGKILL of the host, the reaper', () => {
  it.each([
    ['a child and a grandchild of a command', []],
    ['processes in their own session without environment', ['pipes', 'session', 'environment']],
  ] as const)('ends %s', async (_, without) => {
    const lines = setup.lifelines()
    const grandchild = setup.sh('grandchild', lines.hold('grandchild'))
    const child = setup.sh('child', `${starts(grandchild, ...without)} ${lines.hold('child')}`)
    setup.sh('family', `${starts(child, ...without)} ${lines.hold('command')}`)
    const host = spawn(
      process.execPath, [fixture('../shell/fixtures/dying-host.ts'), setup.workspace, setup.bin, 'family'],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const family = await Promise.all(['command', 'child', 'grandchild'].map((label) => lines.of(label)))
    host.kill('SIGKILL')
    await Promise.all(family.map(({ died }) => died))
  })

  it('removes a partly written file', LONG, async () => {
    const workspace = await temporaryFolder()
    const unfinished = (): readonly string[] => readdirSync(workspace).filter(isTemporaryName)
    const host = spawn(
      process.execPath, [fixture('fixtures/writing-host.ts'), workspace], { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await firstData(host.stdout)
    // A stopped process does not finish the write while the test reads the folder.
    for (host.kill('SIGSTOP'); unfinished().length === 0; host.kill('SIGSTOP')) {
      host.kill('SIGCONT')
      await turn()
    }
    host.kill('SIGKILL')
    await once(host, 'exit')
    await expect.poll(unfinished, { interval: 5 }).toEqual([])
    expect(readdirSync(workspace).toSorted()[0]).toMatch(/^(?:a|first)\.txt$/)
  })
})
