import { describe, expect, it } from 'vitest'
import { failureOf } from '../../../scripts/boot/failure.mjs'

describe('the cause of a failed install is read from what was printed', () => {
  it.each([
    ['npm error code ENOTFOUND', 'could not be reached'],
    ['npm error code EAI_AGAIN', 'could not be reached'],
    ['connect ECONNREFUSED 127.0.0.1:9', 'could not be reached'],
    ['Error: ERR_PNPM_META_FETCH_FAIL\n  tcp connect error: Connection refused (os error 111)', 'could not be reached'],
    ['ERR_PNPM_META_FETCH_FAIL … invalid peer certificate: UnknownIssuer', 'certificate is not trusted'],
    ['npm error code SELF_SIGNED_CERT_IN_CHAIN', 'certificate is not trusted'],
    ['npm error code E404', 'does not have a package'],
    ['ENOSPC: no space left on device, write', 'the disk is full'],
    ["EACCES: permission denied, mkdir '.tools'", 'could not be written'],
    ['ERR_PNPM_OUTDATED_LOCKFILE', 'pnpm-lock.yaml does not fit'],
  ])('%s', (output, cause) => {
    const failure = failureOf('It failed', output, 'unknown')
    expect(failure.message).toMatch(new RegExp(`^It failed: .*${cause}`))
    expect(failure.describe()).toMatch(/\n {2}Cure: \S/)
    expect(failure.cure).not.toBe('unknown')
  })

  it('and where it names none, the caller’s own cure is given', () => {
    expect(failureOf('It failed', 'segmentation fault', 'delete node_modules').describe()).toBe(
      '\n✗ It failed.\n  Cure: delete node_modules\n',
    )
  })
})
