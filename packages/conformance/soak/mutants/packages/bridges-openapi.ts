import type { Mutant } from '../mutant.ts'

export const OPENAPI: readonly Mutant[] = [
  {
    what: 'SLACK_MS: a token is fetched again before it expires',
    file: 'packages/bridges/src/openapi/calling/authorization.ts', from: ' - SLACK_MS }', to: ' }',
    test: 'packages/bulkhead/test/openapi/credentials.test.ts',
  },
  {
    what: 'LONGEST_MS: life of a token', file: 'packages/bridges/src/openapi/calling/authorization.ts',
    from: 'Math.min(lifeMs, LONGEST_MS)', to: 'lifeMs',
    test: 'packages/bridges/test/openapi/calling/authorization.test.ts',
  },
  {
    what: 'MOST_BYTES: response of a token server', file: 'packages/bridges/src/openapi/calling/authorization.ts',
    from: 'if (pieces.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES)', to: 'if (pieces.length < 0)',
    test: 'packages/bridges/test/openapi/calling/authorization.test.ts',
  },
  {
    what: 'MOST_BODY_BYTES: response of an operation',
    file: 'packages/bridges/src/openapi/calling/call-operation.ts', from: 'if (count > MOST_BODY_BYTES)',
    to: 'if (count < 0)', test: 'packages/bulkhead/test/openapi/calls.test.ts',
  },
  {
    what: 'LINK_CHARS: header Link of a response', file: 'packages/bridges/src/openapi/calling/pagination.ts',
    from: 'link.slice(0, LINK_CHARS)', to: 'link', test: 'packages/bridges/test/openapi/calling/pagination.test.ts',
  },
  {
    what: 'URL_CHARS: address of the next page', file: 'packages/bridges/src/openapi/calling/pagination.ts',
    from: ' || target.length > URL_CHARS', to: '', test: 'packages/bridges/test/openapi/calling/pagination.test.ts',
  },
  {
    what: 'manifestBytes: manifest that is made of a document',
    file: 'packages/bridges/src/openapi/describe-document.ts',
    from: ' && bytes + more <= MANIFEST_LIMITS.manifestBytes', to: '',
    test: 'packages/bridges/test/openapi/describe-document.test.ts',
  },
  {
    what: 'LONGEST_CHAIN: references in a row', file: 'packages/bridges/src/openapi/reading/api-description.ts',
    from: 'steps < LONGEST_CHAIN', to: 'steps < 1_000',
    test: 'packages/bridges/test/openapi/reading/arguments.test.ts',
  },
  {
    what: 'MOST: parameters of an operation', file: 'packages/bridges/src/openapi/reading/arguments.ts',
    from: 'found.size > MOST)', to: 'found.size < 0)',
    test: 'packages/bridges/test/openapi/reading/arguments.test.ts',
  },
  {
    what: 'READ_MS: time to read a document', file: 'packages/bridges/src/openapi/reading/document-pool.ts',
    from: '{ deadlineMs: readMs }', to: '{ deadlineMs: 1e9 }',
    test: 'packages/bridges/test/openapi/reading/read-document.test.ts',
  },
  {
    what: 'LIMITS: depth of a JSON document', file: 'packages/bridges/src/openapi/reading/read-document.ts',
    from: 'parseJson(text, LIMITS)', to: 'parseJson(text, { ...LIMITS, maxDepth: 1e6 })',
    test: 'packages/bridges/test/openapi/reading/read-document.test.ts',
  },
  {
    what: 'MOST_ALIASES: aliases in a YAML document', file: 'packages/bridges/src/openapi/reading/read-document.ts',
    from: ', maxAliases: MOST_ALIASES', to: ', maxAliases: -1',
    test: 'packages/bridges/test/openapi/reading/read-document.test.ts',
  },
  {
    what: 'MOST_OPERATIONS: operations of a document', file: 'packages/bridges/src/openapi/reading/operations.ts',
    from: 'groups.splice(MOST_OPERATIONS)', to: 'groups.splice(1e9)',
    test: 'packages/bridges/test/openapi/reading/operations.test.ts',
  },
  {
    what: 'MOST_FAULTS: faults that are reported of a document',
    file: 'packages/bridges/src/openapi/reading/operations.ts', from: 'faults: faults.slice(0, MOST_FAULTS)',
    to: 'faults', test: 'packages/bridges/test/openapi/reading/operations.test.ts',
  },
  {
    what: 'ID_CHARS: id of an operation', file: 'packages/bridges/src/openapi/reading/operations.ts',
    from: ' && operationId.length <= ID_CHARS', to: '',
    test: 'packages/bridges/test/openapi/reading/operations.test.ts',
  },
  {
    what: 'NAMES_CHARS: names of the operations over the limit',
    file: 'packages/bridges/src/openapi/reading/operations.ts', from: ', NAMES_CHARS)', to: ', Infinity)',
    test: 'packages/bridges/test/openapi/reading/operations.test.ts',
  },
  {
    what: 'MOST_SCHEMES: security schemes of a document', file: 'packages/bridges/src/openapi/reading/security.ts',
    from: '.slice(0, MOST_SCHEMES)', to: '', test: 'packages/bridges/test/openapi/credentials.test.ts',
  },
  {
    what: 'MOST_ALTERNATIVES: alternatives to authorize an operation',
    file: 'packages/bridges/src/openapi/reading/security.ts',
    from: '(written as readonly Json[]).slice(0, MOST_ALTERNATIVES)', to: '(written as readonly Json[])',
    test: 'packages/bridges/test/openapi/credentials.test.ts',
  },
  {
    what: 'MOST_BYTES: file of a document', file: 'packages/bridges/src/openapi/sources/file.ts',
    from: 'stat.size > MOST_BYTES ? undefined : await readAtMost(file, MOST_BYTES)',
    to: 'await readAtMost(file, 2 ** 40)', test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'MOST_BYTES: document that is fetched', file: 'packages/bridges/src/openapi/sources/url.ts',
    from: 'readBody(response, MOST_BYTES,', to: 'readBody(response, Infinity,',
    test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'A document of a URL has the pinned digest', file: 'packages/bridges/src/openapi/sources/url.ts',
    from: 'if (found !== digest) {', to: 'if (false) {',
    test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'A cached document has the pinned digest', file: 'packages/bridges/src/openapi/sources/url.ts',
    from: 'return sha512(bytes) === digest ? bytes : undefined', to: 'return bytes',
    test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'A document of a URL is fetched over https', file: 'packages/bridges/src/openapi/sources/url.ts',
    from: 'if (url.protocol !== \'https:\' && !isThisMachine(url)) throw', to: 'if (false) throw',
    test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'No link of a document is followed', file: 'packages/bridges/src/openapi/sources/file.ts',
    from: 'if (within !== undefined && (await lstat(path)).isSymbolicLink()) {', to: 'if (false) {',
    test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'A file beside the folder of a document is not read', file: 'packages/bridges/src/openapi/sources/file.ts',
    from: 'if (within !== undefined && !isInside(real, within)) return refused(\'is outside the project\')', to: '',
    test: 'packages/bridges/test/openapi/sources/sources.test.ts',
  },
  {
    what: 'A path parameter stays in its segment', file: 'packages/bridges/src/openapi/calling/styles.ts',
    from: '  encodeURIComponent(text.toWellFormed())', to: '  text',
    test: 'packages/bridges/test/openapi/calling/request.test.ts',
  },
  {
    what: 'A token is not shown in a response that repeats it',
    file: 'packages/bridges/src/openapi/calling/call-operation.ts',
    from: 'const whole = rest.replaceAll(token, \'[REDACTED]\')', to: 'const whole = rest',
    test: 'packages/bulkhead/test/openapi/credentials.test.ts',
  },
  {
    what: 'A rejected token is not used again', file: 'packages/bridges/src/openapi/calling/call-operation.ts',
    from: 'if (response.status === 401) tokens.forget(credentials)', to: '',
    test: 'packages/bulkhead/test/openapi/credentials.test.ts',
  },
]
