import type { Mutant } from '../mutant.ts'

export const BULKHEAD: readonly Mutant[] = [
  {
    what: 'MOST_CALLS: captured calls of a host in the store',
    file: 'packages/bulkhead/src/facade/capture/captured-calls.ts',
    from: 'this.#calls.size <= MOST_CALLS || oldest',
    to: 'this.#calls.size > 0 || oldest',
    test: 'packages/bulkhead/test/capture/captured-calls.test.ts',
  },
  {
    what: 'MOST_FRAMES: captured messages of a server in the store',
    file: 'packages/bulkhead/src/facade/capture/captured-calls.ts',
    from: 'frames.length > MOST_FRAMES || chars',
    to: 'chars',
    test: 'packages/bulkhead/test/capture/captured-calls.test.ts',
  },
  {
    what: 'MOST_FRAME_CHARS: length of captured messages of a server',
    file: 'packages/bulkhead/src/facade/capture/captured-calls.ts',
    from: ' || chars > MOST_FRAME_CHARS',
    to: '',
    test: 'packages/bulkhead/test/capture/captured-calls.test.ts',
  },
  {
    what: 'STALE_MS: an order of an inspector that is gone ends',
    file: 'packages/bulkhead/src/facade/capture/capture-records.ts',
    from: "if (Math.abs(Date.now() - value['at']) > STALE_MS) return undefined",
    to: '',
    test: 'packages/bulkhead/test/capture/captured-calls.test.ts',
  },
  {
    what: 'record: false forbids a capture in the store',
    file: 'packages/bulkhead/src/facade/capture/obeyed-orders.ts',
    from: 'config().record === false || ',
    to: '',
    test: 'packages/bulkhead/test/capture/captured-calls.test.ts',
  },
  {
    what: 'MOST_OVER: closed sessions whose late results are refused',
    file: 'packages/bulkhead/src/facade/sidecar.ts', from: 'if (over.size > MOST_OVER) over',
    to: 'if (over.size < 0) over', test: 'packages/bulkhead/test/sidecar.test.ts',
  },
  {
    what: 'most: files of a folder that are counted', file: 'packages/bulkhead/src/facade/count-files.ts',
    from: 'else if (++files > most) return files', to: 'else files++',
    test: 'packages/bulkhead/test/count-files.test.ts',
  },
  {
    what: 'ENTRIES_PER_FILE: entries of a folder that are looked at',
    file: 'packages/bulkhead/src/facade/count-files.ts',
    from: 'if (++entries > most * ENTRIES_PER_FILE) return most + 1', to: 'entries++',
    test: 'packages/bulkhead/test/count-files.test.ts',
  },
  {
    what: 'CLOSE_TIMEOUT_MS: time to close a store', file: 'packages/bulkhead/src/facade/close-store.ts',
    from: 'const stopWaiting = clock.after(CLOSE_TIMEOUT_MS, done)', to: 'const stopWaiting = () => undefined',
    test: 'packages/bulkhead/test/close-store.test.ts',
  },
  {
    what: 'DIGEST_CHARS: characters of a digest that consent takes', file: 'packages/bulkhead/src/cli/review.ts',
    from: '{12,128}', to: '{1,128}', test: 'packages/bulkhead/test/consent.test.ts',
  },
  {
    what: 'LEAST_CHARS: characters of a session to undo', file: 'packages/bulkhead/src/cli/calls/undo-target.ts',
    from: 'start.length < LEAST_CHARS ? [] : ', to: '', test: 'packages/bulkhead/test/undo/undo-command.test.ts',
  },
  {
    what: 'LEAST_ID_CHARS: characters of the id of an approval',
    file: 'packages/bulkhead/src/cli/policy/approvals.ts', from: ' || id.length < LEAST_ID_CHARS', to: '',
    test: 'packages/bulkhead/test/approvals-command.test.ts',
  },
  {
    what: 'PROMPT_CHARS: prompt of an agent that is shown', file: 'packages/bulkhead/src/cli/policy/trust.ts',
    from: 'prompt.slice(0, PROMPT_CHARS).split', to: 'prompt.split',
    test: 'packages/bulkhead/test/trust-contents.test.ts',
  },
  {
    what: 'MAX_FAULTS: warnings of a served client', file: 'packages/bulkhead/src/cli/servers/mcp.ts',
    from: 'if (reported < MAX_FAULTS) process', to: 'process',
    test: 'packages/bulkhead/test/mcp/mcp-command.test.ts',
  },
  {
    what: 'MOST_DAYS: days of an audit that are kept', file: 'packages/bulkhead/src/cli/policy/audit.ts',
    from: 'most: MOST_DAYS,', to: 'most: Infinity,', test: 'packages/bulkhead/test/audit-archive.test.ts',
  },
  {
    what: 'LIST_ROWS: rows of a list in a question', file: 'packages/bulkhead/src/facade/terminal/prompt-text.ts',
    from: 'lists.map((rows) => clipped(rows, LIST_ROWS)).flat()', to: 'lists.flat()',
    test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: 'LEAST_ARGUMENT_ROWS: rows of the arguments in a question',
    file: 'packages/bulkhead/src/facade/terminal/prompt-text.ts', from: 'clipped(args, room - shortDiff.length)',
    to: 'args', test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: 'MAX_LABEL_CHARS: label of an option', file: 'packages/bulkhead/src/facade/terminal/prompt-person.ts',
    from: 'shown.length > MAX_LABEL_CHARS ?', to: 'false ?',
    test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: '--yes does not agree to added powers', file: 'packages/bulkhead/src/cli/review.ts',
    from: 'if (yes && !verdict.explicit) return', to: 'if (yes) return',
    test: 'packages/bulkhead/test/consent.test.ts',
  },
  {
    what: 'No consent overrides the refusal of the policy', file: 'packages/bulkhead/src/cli/review.ts',
    from: 'if (verdict.kind === \'refused\') {', to: 'if (false) {', test: 'packages/bulkhead/test/consent.test.ts',
  },
  {
    what: 'The digest of another package is no consent', file: 'packages/bulkhead/src/cli/review.ts',
    from: 'if (digests.package.startsWith(accept)) return', to: 'return',
    test: 'packages/bulkhead/test/consent.test.ts',
  },
  {
    what: 'The digest of another project is no consent', file: 'packages/bulkhead/src/cli/review.ts',
    from: 'if (digest.startsWith(accept)) return', to: 'return',
    test: 'packages/bulkhead/test/trust-contents.test.ts',
  },
  {
    what: 'A package is installed after the person agreed', file: 'packages/bulkhead/src/cli/review.ts',
    from: 'if (!await confirmed(interactor, `Accept ${id} ${version} as shown above?`)) {', to: 'if (false) {',
    test: 'packages/bulkhead/test/consent.test.ts',
  },
  {
    what: 'A project is not trusted without an answer', file: 'packages/bulkhead/src/facade/project-trust.ts',
    from: 'return { trust: decision ?? \'declined\', projectDigest }',
    to: 'return { trust: decision ?? \'once\', projectDigest }', test: 'packages/bulkhead/test/trust.test.ts',
  },
  {
    what: 'An unknown answer is no trust in a project', file: 'packages/bulkhead/src/facade/project-trust.ts',
    from: 'value === \'trusted\' || value === \'once\' || value === \'declined\' ? value : undefined',
    to: 'value ? \'once\' : undefined', test: 'packages/bulkhead/test/trust.test.ts',
  },
  {
    what: 'Trust in a project does not cover what changed while the question was open',
    file: 'packages/bulkhead/src/facade/project-trust.ts',
    from: 'return { trust: decision ?? \'declined\', projectDigest }',
    to: 'return { trust: decision ?? \'declined\', projectDigest: await trust.measure(workspace) }',
    test: 'packages/bulkhead/test/appearing-layer.test.ts',
  },
  {
    what: 'A project is not trusted without a person', file: 'packages/bulkhead/src/facade/project-trust.ts',
    from: 'if (!interactor) return { trust: \'declined\', projectDigest: \'any\' }',
    to: 'if (!interactor) return { trust: \'once\', projectDigest: await trust.measure(workspace) }',
    test: 'packages/bulkhead/test/appearing-layer.test.ts',
  },
  {
    what: 'An answer for one start does not cover a changed project',
    file: 'packages/bulkhead/src/facade/project-trust.ts',
    from: ' && await trust.measure(workspace) === this.#answer.projectDigest ?', to: ' ?',
    test: 'packages/bulkhead/test/appearing-layer.test.ts',
  },
  {
    what: 'A late result of a closed session is refused', file: 'packages/bulkhead/src/facade/sidecar.ts',
    from: 'if (over.has(sessionId)) return Promise.reject', to: 'if (false) return Promise.reject',
    test: 'packages/bulkhead/test/sidecar.test.ts',
  },
  {
    what: 'Only the user reads long results', file: 'packages/bulkhead/src/facade/sidecar.ts',
    from: 'open(path, \'wx\', 0o600)', to: 'open(path, \'wx\', 0o644)',
    test: 'packages/bulkhead/test/sidecar.test.ts',
  },
  {
    what: 'The id of a call names no folder', file: 'packages/bulkhead/src/facade/sidecar.ts',
    from: 'Buffer.from(callId).toString(\'base64url\').slice(0, 64)', to: 'callId',
    test: 'packages/bulkhead/test/sidecar.test.ts',
  },
  {
    what: 'Results of a running host are not removed', file: 'packages/bulkhead/src/facade/sidecar.ts',
    from: ' || !owner.isGone(`${id}-`)', to: '', test: 'packages/bulkhead/test/sidecar.test.ts',
  },
  {
    what: 'Long results are removed with their session', file: 'packages/bulkhead/src/facade/sidecar.ts',
    from: 'if (folder) await rm(await folder, { recursive: true, force: true })', to: '',
    test: 'packages/bulkhead/test/sidecar.test.ts',
  },
  {
    what: 'Settings that name hosts are not read through a linked folder',
    file: 'packages/bulkhead/src/facade/file-start.ts', from: 'if (!isWithin(folder, workspace)) return undefined',
    to: '', test: 'packages/bulkhead/test/file-start.test.ts',
  },
  {
    what: 'Settings that name hosts are not read through a link', file: 'packages/bulkhead/src/facade/file-start.ts',
    from: ' | O_NOFOLLOW', to: '', test: 'packages/bulkhead/test/file-start.test.ts',
  },
  {
    what: 'The line of walls of another machine is not shown',
    file: 'packages/bulkhead/src/facade/remembered-walls.ts', from: 'machine === machineNow() && ', to: '',
    test: 'packages/bulkhead/test/remembered-walls.test.ts',
  },
  {
    what: 'Commands use absolute folders of PATH', file: 'packages/bulkhead/src/facade/command-environment.ts',
    from: '.filter((folder) => isAbsolute(folder))', to: '', test: 'packages/bulkhead/test/bash.test.ts',
  },
  {
    what: 'Commands get harmless variables of the environment',
    file: 'packages/bulkhead/src/facade/command-environment.ts', from: 'taken(env, (name) => KEPT.test(name))',
    to: 'taken(env, () => true)', test: 'packages/bulkhead/test/bash.test.ts',
  },
  {
    what: 'A variable with a password is kept from most commands',
    file: 'packages/bulkhead/src/facade/command-environment.ts',
    from: 'env: taken(all, (name) => !hasPassword(name, all[name]!))', to: 'env: all',
    test: 'packages/bulkhead/test/command-environment.test.ts',
  },
  {
    what: 'The value of a key stays out of the environment of commands',
    file: 'packages/bulkhead/src/facade/command-environment.ts', from: '(name) => !Object.hasOwn(keys, name)',
    to: '() => true', test: 'packages/bulkhead/test/command-keys.test.ts',
  },
  {
    what: 'Tokens are read from a file that only the user can read', file: 'packages/bulkhead/src/cli/token-book.ts',
    from: 'const text = readPrivateFile(file)',
    to: 'const text = process.getBuiltinModule(\'node:fs\').readFileSync(file, \'utf8\')',
    test: 'packages/bulkhead/test/mcp/http-tokens.test.ts',
  },
  {
    what: 'Enter alone rejects a call', file: 'packages/bulkhead/src/facade/terminal/prompt-person.ts',
    from: 'initialValue: \'reject\'', to: 'initialValue: 0',
    test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: 'Enter alone does not trust a project', file: 'packages/bulkhead/src/facade/terminal/prompt-person.ts',
    from: 'initialValue: false,\n    options', to: 'initialValue: \'once\',\n    options',
    test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: 'Enter alone does not confirm', file: 'packages/bulkhead/src/facade/terminal/prompt-person.ts',
    from: 'message, initialValue: false', to: 'message, initialValue: true',
    test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: 'Nothing of a tool changes the screen of a question',
    file: 'packages/bulkhead/src/facade/terminal/prompt-text.ts', from: 'rowsOf(visibleText(line), screen,',
    to: 'rowsOf(line, screen,', test: 'packages/bulkhead/test/terminal/terminal-interactor.test.ts',
  },
  {
    what: 'A closed sandbox opens nothing', file: 'packages/bulkhead/src/facade/late-sandbox.ts',
    from: 'if (closed) throw new BulkheadError(\'HostClosed\', \'The sandbox is closed.\')', to: '',
    test: 'packages/bulkhead/test/late-sandbox.test.ts',
  },
  {
    what: 'All code of the host is loaded before code that could replace it',
    file: 'packages/bulkhead/src/facade/late-sandbox.ts',
    from: "if (request.placement !== 'inline' && mayChangeDisk(request)) await prepared()", to: '',
    test: 'packages/bulkhead/test/late-sandbox.test.ts',
  },
  {
    what: 'ANSWER_LIMITS.bodyBytes: body of an answer by a link', file: 'packages/inspector/src/links/answer-links.ts',
    from: 'if (size > ANSWER_LIMITS.bodyBytes) throw new TooLong()', to: '',
    test: 'packages/inspector/test/links.test.ts',
  },
  {
    what: 'the secret of a webhook is in no file that others can read',
    file: 'packages/bulkhead/src/cli/policy/waiting-serve.ts',
    from: 'const text = readPrivateFile(file)', to: 'const text: string | undefined = \'x\'.repeat(32)',
    test: 'packages/bulkhead/test/waiting-command.test.ts',
  },
  {
    what: 'a session that waits for answers from elsewhere waits', file: 'packages/host/src/sessions/session-scope.ts',
    from: 'return [...asked, waitsForOthers]', to: 'return asked',
    test: 'packages/bulkhead/test/waiting-command.test.ts',
  },
  {
    what: 'an answer that came before the end of a question counts',
    file: 'packages/host/src/policy/interaction/interactors.ts',
    from: 'lastLook ? void lastLook().then(timeOut) : timeOut()', to: 'timeOut()',
    test: 'packages/bulkhead/test/waiting-command.test.ts',
  },
]
