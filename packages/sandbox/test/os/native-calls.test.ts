// @module-tag walls
import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { REFUSED } from '../../../broker/src/walls/filter-rules.ts'
import { attempt, run } from './run-under-layers.ts'

const here = await detectOsLayers()
/** Both have bubblewrap, because it installs the filter. Where it does not work, the launcher does. */
const bubblewrapped: OsLayers = { ...withoutLayers('it is not wanted here'), bubblewrap: here.bubblewrap }
const filtered: OsLayers = { ...bubblewrapped, launcher: here.launcher, seccomp: here.seccomp }

const AF_INET = 2
const AF_ALG = 38
const AF_VSOCK = 40
const SOCK_STREAM = 1

type Call = readonly [name: string, ...args: number[]]

/** Makes system calls directly, as code does that has escaped from Node. Returns the error name of each call. */
async function ask(layers: OsLayers, calls: readonly Call[]): Promise<readonly string[]> {
  const numbers = calls.map(([name, ...args]) => {
    const [, x64, arm64] = REFUSED.find(([known]) => known === name)!
    return [process.arch === 'x64' ? x64 : arm64, ...args, ...Array<number>(6 - args.length).fill(0)]
  })
  const { stdout, stderr } = await run(layers, `
    import { dlopen, getInt32 } from 'node:ffi'
    const { functions: c } = dlopen(null, {
      syscall: { arguments: Array(7).fill('i64'), return: 'i64' },
      __errno_location: { arguments: [], return: 'pointer' },
    })
    const ask = (call) => c.syscall(...call.map(BigInt)) === -1n ? getInt32(c.__errno_location()) : 0
    console.log(JSON.stringify(${JSON.stringify(numbers)}.map(ask)))
  `)
  if (stdout === '') throw new Error(stderr)
  return (JSON.parse(stdout) as number[]).map((errno) => errno === 0 ? 'done' : getSystemErrorName(-errno))
}

describe('code that has escaped from Node', () => {
  it('gets an error from each refused system call, and is not killed', needs('bubblewrap'), async () => {
    const known = REFUSED.filter(([, , arm64]) => process.arch !== 'arm64' || arm64 !== null)
    expect(await ask(filtered, known.map(([name]): Call => [name]))).toEqual(known.map(() => 'EPERM'))
  })

  it('can make such calls without the filter', async () => {
    const answers = await ask(
      bubblewrapped, [['personality', 0xffff_ffff], ['memfd_create'], ['socket', AF_INET, SOCK_STREAM]],
    )
    expect(answers).toEqual(['done', 'EFAULT', 'done'])
  })

  it('gets no socket of any family, even of those that namespaces do not confine', async () => {
    const sockets = [AF_INET, AF_ALG, AF_VSOCK].map((family): Call => ['socket', family, SOCK_STREAM])
    expect((await ask(filtered, sockets)).every((answer) => answer === 'EPERM')).toBe(here.seccomp.active)
  })
})

describe('a process', () => {
  const START = `childProcess.spawnSync(process.execPath, ['--version'], { encoding: 'utf8' })`

  it('cannot be started by a hull', async () => {
    // Without the filter it can, because the Node executable is there.
    const version = { value: `${process.version}\n` }
    expect(await attempt(bubblewrapped, `${START}.stdout`)).toEqual(version)
    expect(await attempt(filtered, `${START}.error?.code ?? ${START}.stdout`))
      .toEqual(here.seccomp.active ? { value: 'EPERM' } : version)
  })
})
