import { expect, it } from 'vitest'
import { faultError, type Fault } from '../../src/model/result.ts'

const changed = (file: string): Fault => ({
  stage: 'integrity', code: 'IntegrityFailed', path: '', file,
  message: `The package differs from its integrity file: ${file} has changed.`,
})

it('reports one fault without its default cure', () => {
  expect(faultError([changed('a.js')])).toMatchObject({
    code: 'IntegrityFailed', message: 'The package differs from its integrity file: a.js has changed.',
  })
})

it('reports the first faults, the number of others, and the cure', () => {
  const { message } = faultError(['a', 'b', 'c', 'd', 'e', 'f'].map(changed))
  expect(message).toMatch(/^The package .*: d has changed\. \(and 2 more\) Install the package again/)
  expect(message).not.toContain('e has')
})

it('reports each cure once', () => {
  const fault: Fault = {
    stage: 'shape', code: 'ShapeInvalid', path: '/x', file: 'bulkhead.json', message: '/x is wrong.',
    cure: 'Use another host.',
  }
  expect(faultError([fault, { ...fault, message: '/y is wrong.' }]).message).toBe(
    'bulkhead.json: /x is wrong. /y is wrong. Use another host.',
  )
})
