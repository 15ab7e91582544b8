import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { expect, it } from 'vitest'
import { fileFault } from '../../src/fs/file-errors.ts'

const failing = (code: string, errno: number) => fileFault('notes.md', () => Promise.reject(Object.assign(new Error(code), { code, errno })))

it('a full disk and a quota that is used up are told apart, although Node has no name for the second', async () => {
  await expect(failing('ENOSPC', -constants.errno.ENOSPC)).rejects.toThrow('"notes.md" finds no room on its disk.')
  const quota = -constants.errno.EDQUOT
  await expect(failing(getSystemErrorName(quota), quota)).rejects.toThrow('"notes.md" finds no room on its disk: the quota of the user is used up.')
})
