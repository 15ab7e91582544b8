import { expect } from 'vitest'
import { has } from '../../../scripts/machine.ts'

const WARNING = /^Warning: Third-party tools run without bubblewrap .*\n/

/** What a command wrote to stderr after the warning about missing walls, which it writes where they are missing. */
export function afterWallWarning(stderr: string): string {
  expect(WARNING.test(stderr), stderr).toBe(!has('bubblewrap'))
  return stderr.replace(WARNING, '')
}
