import { expect, test } from 'vitest'
import * as loader from '../src/index.ts'
import * as compare from '../src/lock/version-bump.ts'

test('exports the documented names', () => {
  expect(Object.keys(loader).toSorted()).toEqual([
    'INTEGRITY_FILE', 'IgnoreFiles', 'Installer', 'LOADER_LIMITS', 'NPM_KEYS', 'PROJECT_FOLDER', 'PUBLIC_GOOD_ROOT',
    'SIGNATURE_FILE', 'TRUST_FILE', 'admitPackage', 'ageInDays', 'canStateProvenance', 'capabilityDiffInWords',
    'conformanceStatement', 'createLoader', 'editConfig', 'findKeyFault', 'findOwnershipFault', 'fixturesIn',
    'inspectPackage', 'isSourceFolder', 'lastPublished', 'loadInstalled', 'looseningSettings', 'packFiles',
    'packFolder', 'parseTrustRoot', 'planPublication', 'publishPackage', 'readNpmConfig', 'refreshTrustRoot',
    'requireIdentity', 'reviewNpmrc', 'schemaThread', 'settingOrigins', 'sign', 'signPackage', 'signTarball',
    'signerInWords', 'skillFoldersOf', 'userConfig', 'verifyNpmAttestations',
  ])
  expect(Object.keys(compare)).toEqual(['compareVersions'])
})

test('keeps the values of exported constants', () => {
  expect(loader.INTEGRITY_FILE).toBe('bulkhead.integrity.json')
  expect(loader.SIGNATURE_FILE).toBe('bulkhead.sigstore.json')
  expect(loader.PROJECT_FOLDER).toBe('.bulkhead')
})
