import { expect, it } from 'vitest'
import * as inspector from '../src/index.ts'
import * as links from '../src/links/index.ts'
import * as passkeys from '../src/passkeys/index.ts'
import * as protocol from '../src/protocol.ts'

it('the package exports the documented names', () => {
  expect(Object.keys(inspector).toSorted()).toEqual(['capturedCall', 'createInspectorServer', 'listen', 'pageCode'])
  expect(Object.keys(links).toSorted()).toEqual(['ANSWER_PURPOSE', 'createAnswerLinks'])
  expect(Object.keys(passkeys)).toEqual(['createRegistration'])
  expect(Object.keys(protocol)).toEqual([])
})
