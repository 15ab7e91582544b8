import { describe, expect, it } from 'vitest'

// '../src/*.ts' and '../src/schema/index.ts': every module of this package is an entry.
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  'addresses': ['addressBytes', 'addressKind', 'canonicalAddress'],
  'batches': ['Batches'], 'built-code': ['builtCode'],
  'deadlines': ['isPromiseLike', 'onAbort', 'settlesWithin', 'untilAborted', 'within'],
  'document-parts': ['documentDigest', 'findParts', 'partPath'],
  'error-message': ['errorCode', 'isQuotaFault', 'messageOf'],
  'fair-queue': ['FairQueue'],
  'file-lock': ['LockError', 'tryFileLock', 'withFileLock'],
  'folders': ['entriesIn', 'foldersBetween', 'isAbsent', 'makeFolder', 'namesIn', 'pathsAt', 'scanningOnce'],
  'form': ['FIELD_NAME', 'formChoices', 'readFormSchema', 'readFormValues'], 'gitignore': ['Gitignore'],
  'glob': [
    'compileGlob', 'globContains', 'globsOverlap', 'matchGlob', 'matchRow', 'matchSegment', 'pathSegments',
    'relationTo', 'textContains', 'textsOverlap',
  ],
  'hosts': [
    'coversName', 'coversPort', 'hostCovers', 'hostMatches', 'hostsOverlap', 'isThisMachine', 'readHostPattern',
  ],
  'json': [
    'JSON_LIMITS', 'asJson', 'atPointer', 'canonicalJson', 'findJsonFault', 'isJsonObject', 'parseJson',
    'pointerKey', 'pointerStep', 'targetOf', 'valueAt',
  ],
  'json-copy': ['copyJson', 'deepFreeze'],
  'json-edit': ['childLinesInJson', 'placeInJson', 'removeJson'],
  'node-version': ['nodeVersionFault', 'requireNodeVersion'],
  'once-per-tick': ['oncePerTick'],
  'options': ['findOptionFault', 'forms'], 'pool': ['PoolError', 'WorkPool', 'loadImages'],
  'pool-thread': ['task'],
  'private-file': ['ExposedFileError', 'readPrivateFile', 'writePrivateFile'],
  'process-tree': ['processTree', 'readPsTable', 'treeUse', 'useIn'],
  'processes': [
    'MARK_LIMIT', 'hasProcessEnded', 'hasProcessMark', 'isResourceShortage', 'isUnmarked', 'markOption',
    'mentionsResourceShortage', 'newProcessMark', 'processIdentity', 'succeeds', 'workingLaunchers',
  ],
  'programs': [
    'PROGRAM_FOLDERS', 'READ_BY_COMMANDS', 'SYSTEM_FOLDERS', 'codeOfCommand', 'findProgram', 'includesPath',
    'isExecutable', 'isOfSystem', 'isWithin', 'linkedFrom', 'realOf',
  ],
  'schema': [
    'alternatives', 'constrains', 'dialectOf', 'hasOwnType', 'inModernKeywords', 'isAnnotation', 'isMultipleOf',
    'isOfType', 'keywordFault', 'keywordTarget', 'keywordType', 'mapSubschemas', 'patternEngine', 'propertiesOf',
    'readSchema', 'schemaCompiler', 'schemaKeywordForm', 'subschemaPointer', 'subschemasOf', 'typesOf', 'valueAt',
    'withDependents', 'withPrefixItems',
  ],
  'schema-types': ['commentOf', 'memberName', 'typeOfSchema'],
  'signed-message': ['SignedMessages', 'isMac', 'macOf', 'requireSecret', 'signMessage'],
  'this-machine': ['thisMachine'],
  'times': ['TIME_FORMS', 'durationInWords', 'localTime', 'localZone', 'readTime'],
  'thread-image': ['HOOKS_FIRST', 'ThreadImage', 'compileCacheEnvironment', 'images'],
  'text': [
    'LEFT_OUT', 'MIN_SECRET_CHARS', 'closeNames', 'decoded', 'givesAdvice', 'headAndTail', 'isSecretName', 'meantNames',
    'visibleJson', 'visibleText', 'writtenForms',
  ],
  'webauthn': ['checkPasskey', 'checkRegistration', 'mayUsePasskeysOf', 'passkeyChallenge'],
}

describe('the exports', () => {
  it.each(Object.entries(ENTRIES))('are pinned for @bulkhead/kit/%s', async (entry, names) => {
    expect(Object.keys(await import(`@bulkhead/kit/${entry}`) as object).toSorted()).toEqual(names)
  })

  it('include every module', async () => {
    const { readdirSync } = await import('node:fs')
    expect(readdirSync(new URL('../src', import.meta.url)).map((name) => name.replace(/\.ts$/, '')).toSorted())
      .toEqual(Object.keys(ENTRIES).toSorted())
  })
})
