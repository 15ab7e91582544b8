// @module-tag walls
import { lookWall } from '@bulkhead/broker'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { REFUSED } from '../../../broker/src/walls/filter-rules.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { inactive } from '../../src/os/os-layer.ts'
import { withoutLayers } from '../../src/os/os-layers.ts'
import { temporaryFolder } from '../fixture.ts'
import { attemptAll, layersWithoutBubblewrap, run } from './run-under-layers.ts'

const whole = await layersWithoutBubblewrap()
const { launcher } = whole
/** As in a container without namespaces. */
const alone: OsLayers = launcher.active
  ? { ...whole, launcher: { ...launcher, isOtherUser: false, namespaces: inactive('it is not wanted here') } } : whole
const nothing = withoutLayers('it is not wanted here')
const stands = (await lookWall()).stands

it('the launcher confines hulls where Landlock works', { ...needs('Linux'), ...LONG }, () => {
  expect([launcher.active, whole.seccomp.active, whole.rlimits.active]).toEqual([stands, stands, true])
  expect(whole.utilLinux.active).toBe(!stands)
})

describe.each([
  ['with namespaces', whole], ['alone', alone],
])('unrestricted Node code behind the launcher %s', runsIf(stands, 'needs Landlock'), (_, layers) => {
  it('cannot open, list or change files, see processes, signal the host, connect or start programs', async () => {
    const file = join(await temporaryFolder(), 'secret')
    await writeFile(file, 'canary')
    const path = join(await temporaryFolder(), 'socket')
    let reached = 0
    const server = createServer((socket) => {
      reached++
      socket.end()
    })
    await new Promise<void>((ready) => void server.listen(path, ready))
    onTestFinished(() => void server.close())
    const attempts = [
      `fs.readFileSync(${JSON.stringify(file)}, 'utf8')`, `fs.writeFileSync(${JSON.stringify(file)}, 'x') ?? 'written'`,
      `fs.truncateSync(${JSON.stringify(file)}) ?? 'written'`,
      `fs.chmodSync(${JSON.stringify(file)}, 0o777) ?? 'changed'`, `fs.readFileSync('/etc/passwd').length > 0`,
      `Array.isArray(fs.readdirSync('/'))`, `fs.readFileSync('/proc/self/status').length > 0`,
      `process.kill(${process.pid}, 0)`, `connect(${JSON.stringify(path)})`,
      `childProcess.spawnSync(process.execPath).error?.code ?? 'started'`,
    ]
    const open = await attemptAll(nothing, attempts)
    expect(open.map((outcome) => Object.keys(outcome as object))).toEqual(attempts.map(() => ['value']))
    const refused = { refused: expect.stringMatching(/^(EACCES|EPERM|ESRCH)$/) as string }
    expect(await attemptAll(layers, attempts)).toEqual([...attempts.slice(1).map(() => refused), { value: 'EPERM' }])
    expect(reached).toBe(1)
  })

  it('gets an error from each system call that a hull never makes, and is not killed', async () => {
    const known = REFUSED.map(([name, x64, arm64]) => [name, process.arch === 'x64' ? x64 : arm64] as const).filter(
      ([, number]) => number !== null,
    )
    const { stdout, stderr } = await run(
      layers,
      `
      import { dlopen, getInt32 } from 'node:ffi'
      const { functions: c } = dlopen(null, {
        syscall: { arguments: Array(7).fill('i64'), return: 'i64' },
        __errno_location: { arguments: [], return: 'pointer' },
      })
      const ask = (number) =>
        c.syscall(BigInt(number), 0n, 0n, 0n, 0n, 0n, 0n) === -1n ? getInt32(c.__errno_location()) : 0
      console.log(JSON.stringify(${JSON.stringify(known.map(([, number]) => number))}.map(ask)))
    `,
    )
    expect(stderr).toBe('')
    const answers = (JSON.parse(stdout) as number[]).map((errno) => (errno === 0 ? 'done' : getSystemErrorName(-errno)))
    expect(Object.fromEntries(known.map(([name], index) => [name, answers[index]]))).toEqual(
      Object.fromEntries(known.map(([name]) => [name, 'EPERM'])),
    )
  })
})
