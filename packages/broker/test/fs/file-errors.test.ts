import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { expect, it } from 'vitest'
import { withFileErrors } from '../../src/fs/file-errors.ts'

const failing = (code: string, errno: number) =>
  withFileErrors('notes.md', () => Promise.reject(Object.assign(new Error(code), { code, errno })))

it('gives a full disk and an exceeded quota different messages', async () => {
  await expect(failing('ENOSPC', -constants.errno.ENOSPC))
    .rejects.toThrow('"notes.md" cannot be written because the disk is full.')
  const quota = -constants.errno.EDQUOT
  await expect(failing(getSystemErrorName(quota), quota))
    .rejects.toThrow('"notes.md" cannot be written because the disk quota of the user is used up.')
})
