import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'

const FOLDERS = JSON.stringify(join(import.meta.dirname, '../src/facade/folders.ts'))
/** No account has this number. */
const NAMELESS = 4_000_001

it('a user without HOME and without an account has the root as home', needs('root'), () => {
  const script = `
    const { accountName, homeFolder, userCacheFolder } = await import(${FOLDERS})
    process.setgid(${NAMELESS})
    process.setuid(${NAMELESS})
    console.log(accountName(), homeFolder(undefined), userCacheFolder({}, 'linux'))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script], {
    env: {}, encoding: 'utf8',
  })
  expect([stdout, stderr]).toEqual([`uid ${NAMELESS} /.bulkhead /.cache/bulkhead\n`, ''])
})
