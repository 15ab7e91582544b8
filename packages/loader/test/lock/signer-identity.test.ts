import type { ExtensionSigner } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { findSignerChange } from '../../src/signature/signer.ts'

const WORKFLOW = 'https://github.com/acme/weather/.github/workflows/publish.yml'
const BUILD: ExtensionSigner = {
  issuer: 'https://token.actions.githubusercontent.com', subject: `${WORKFLOW}@refs/tags/v1`,
  repository: 'https://github.com/acme/weather', workflow: WORKFLOW, ref: 'refs/tags/v1',
}
const PERSON: ExtensionSigner = {
  issuer: 'https://accounts.example', subject: 'ada@example.com', repository: null, workflow: null, ref: null,
}

test.each<[string, ExtensionSigner, ExtensionSigner]>([
  ['a later tag', BUILD, { ...BUILD, subject: `${WORKFLOW}@refs/tags/v2`, ref: 'refs/tags/v2' }],
  ['another branch', { ...BUILD, ref: 'refs/heads/main' }, { ...BUILD, ref: 'refs/heads/next' }],
  ['the same person', PERSON, { ...PERSON }],
])('%s is the same signer', (_, accepted, actual) => {
  expect(findSignerChange(accepted, actual)).toBeUndefined()
})

test.each<[string, ExtensionSigner, ExtensionSigner | null]>([
  ['no signer', BUILD, null],
  ['another issuer', BUILD, { ...BUILD, issuer: 'https://elsewhere.example' }],
  ['another repository', BUILD, { ...BUILD, repository: 'https://github.com/eve/weather' }],
  ['another workflow', BUILD, { ...BUILD, workflow: `${WORKFLOW}2` }],
  ['a branch instead of a tag', BUILD, { ...BUILD, ref: 'refs/heads/v1' }],
  ['no ref instead of a tag', BUILD, { ...BUILD, ref: null }],
  ['a person instead of a build', BUILD, PERSON],
  ['another person', PERSON, { ...PERSON, subject: 'eve@example.com' }],
  ['a person of another issuer', PERSON, { ...PERSON, issuer: 'https://elsewhere.example' }],
])('%s is another signer', (_, accepted, actual) => {
  expect(findSignerChange(accepted, actual)).toMatch(/^was signed by .+ and is (not )?signed .*now$/)
})
