import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Executables } from '../../src/main/broker/shell/executable.ts'
import { OffLimits } from '../../src/main/broker/shell/off-limits.ts'
import { Wall } from '../../src/main/broker/shell/wall.ts'
import { ShellGround } from './shell-ground.ts'

const ground = new ShellGround()
afterAll(() => ground.clear())
const wall = (): Wall => {
  const executables = new Executables([ground.bin, '/usr/bin', '/bin'], new OffLimits([]))
  return new Wall({ workspace: ground.workspace, executables, home: undefined })
}

it('that does not work here is none', async () => {
  ground.sh('bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1')
  expect(await wall().prefix('read')).toEqual([])
})

it('for which there is no room now is not none: commands wait for it, and it is tried again', async () => {
  const tried = join(ground.root, 'tried')
  const words = 'bwrap: Creating new namespace failed: Resource temporarily unavailable'
  const path = ground.sh('bwrap', `[ -e '${tried}' ] && exit 0; : > '${tried}'; echo '${words}' >&2; exit 1`)
  const tries = wall()
  await expect(tries.prefix('read')).rejects.toMatchObject({ code: 'ResourceBusy' })
  expect((await tries.prefix('read'))[0]).toBe(path)
})
