import type { Mutant } from '../mutant.ts'

export const BRIDGES: readonly Mutant[] = [
  {
    what: 'MOST_UNSENT: updates that an editor has not read yet', file: 'packages/bridges/src/acp/updates.ts',
    from: ' || this.#unsent >= MOST_UNSENT', to: '', test: 'packages/bridges/test/acp/updates.test.ts',
  },
  {
    what: 'OUTPUT_CHARS: output of a running call that an editor shows', file: 'packages/bridges/src/acp/updates.ts',
    from: '.slice(-OUTPUT_CHARS)', to: '', test: 'packages/bridges/test/acp/updates.test.ts',
  },
  {
    what: 'MOST_REJECTED: keys that a person at an editor always rejects',
    file: 'packages/bridges/src/acp/interactor.ts', from: ' && rejected.size < MOST_REJECTED', to: '',
    test: 'packages/bridges/test/acp/interactor.test.ts',
  },
  {
    what: 'TITLE_CHARS: title of a call for an editor', file: 'packages/bridges/src/acp/tool-call.ts',
    from: 'title.length > TITLE_CHARS', to: 'false', test: 'packages/bridges/test/acp/tool-call.test.ts',
  },
  {
    what: 'MOST_CHARS: arguments that an editor gets', file: 'packages/bridges/src/acp/tool-call.ts',
    from: 'textOfData(value).length <= MOST_CHARS', to: 'true', test: 'packages/bridges/test/acp/tool-call.test.ts',
  },
  {
    what: 'PATH_CHARS: path that an editor gets', file: 'packages/bridges/src/acp/tool-call.ts',
    from: ' && given.length <= PATH_CHARS', to: '', test: 'packages/bridges/test/acp/tool-call.test.ts',
  },
  {
    what: 'MOST_LOCATIONS: places of a search that an editor gets', file: 'packages/bridges/src/acp/tool-call.ts',
    from: '.slice(0, MOST_LOCATIONS)', to: '', test: 'packages/bridges/test/acp/tool-call.test.ts',
  },
  {
    what: 'MAX_WAITING: preliminary results that the AI SDK has not read',
    file: 'packages/bridges/src/ai-sdk/progress.ts',
    from: 'if (waiting.push(progress) > MAX_WAITING) waiting.shift()', to: 'waiting.push(progress)',
    test: 'packages/bridges/test/ai-sdk/progress.test.ts',
  },
  {
    what: 'WAIT_MS: pause after a server failed again and again', file: 'packages/bridges/src/connected/backoff.ts',
    from: 'Math.min(this.#failures, WAIT_MS.length - 1)', to: '0',
    test: 'packages/bridges/test/mcp/connecting/servers.test.ts',
  },
  {
    what: 'MAX_CHARS: cached list of tools that is read', file: 'packages/bridges/src/connected/file-cache.ts',
    from: 'text.length > MAX_CHARS ? undefined : parseJson(text)',
    to: 'parseJson(text, { maxDepth: 64, maxNodes: 1e6, maxChars: 1e9 })',
    test: 'packages/bridges/test/connected/file-cache.test.ts',
  },
  {
    what: 'MAX_CHARS: list of tools that is cached', file: 'packages/bridges/src/connected/file-cache.ts',
    from: 'this.#folder === undefined || text.length > MAX_CHARS', to: 'this.#folder === undefined',
    test: 'packages/bridges/test/connected/file-cache.test.ts',
  },
  {
    what: 'KEPT_LINES: lines of standard error that are kept', file: 'packages/bridges/src/connected/server-log.ts',
    from: 'this.#lines.slice(1 - KEPT_LINES)', to: 'this.#lines',
    test: 'packages/bridges/test/connected/server-log.test.ts',
  },
  {
    what: 'LINE_CHARS: length of a line of standard error', file: 'packages/bridges/src/connected/server-log.ts',
    from: '.slice(0, LINE_CHARS)', to: '', test: 'packages/bridges/test/connected/server-log.test.ts',
  },
  {
    what: 'LONGEST: name of a tool of a server', file: 'packages/bridges/src/connected/entries.ts',
    from: 'name.length <= LONGEST', to: 'true', test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'LABEL_CHARS: label of a tool of a server', file: 'packages/bridges/src/connected/entries.ts',
    from: 'cut(text, LABEL_CHARS)', to: 'text', test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'MOST_TOKENS: work that a language server reports at once',
    file: 'packages/bridges/src/lsp/server-activity.ts', from: 'this.#tokens.size < MOST_TOKENS', to: 'true',
    test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'MOST_SECTIONS: sections of a configuration that a language server asks for',
    file: 'packages/bridges/src/lsp/client-capabilities.ts', from: '.slice(0, MOST_SECTIONS)', to: '',
    test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'MOST_MESSAGES: messages of a language server without being asked',
    file: 'packages/bridges/src/lsp/json-rpc.ts', from: 'this.#messages > MOST_MESSAGES || ', to: '',
    test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'MOST_CHARS: characters of a language server without being asked',
    file: 'packages/bridges/src/lsp/json-rpc.ts', from: ' || this.#chars > MOST_CHARS', to: '',
    test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'ERROR_CHARS: error of a language server', file: 'packages/bridges/src/lsp/json-rpc.ts',
    from: '.slice(0, ERROR_CHARS)', to: '', test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'MOST_BODY_BYTES: message of a language server', file: 'packages/bridges/src/lsp/message-reader.ts',
    from: 'if (length > MOST_BODY_BYTES)', to: 'if (length < 0)',
    test: 'packages/bridges/test/lsp/message-reader.test.ts',
  },
  {
    what: 'MOST_HEADER_BYTES: header of a message of a language server',
    file: 'packages/bridges/src/lsp/message-reader.ts', from: 'if (whole.length < MOST_HEADER_BYTES) return false',
    to: 'if (whole.length > 0) return false', test: 'packages/bridges/test/lsp/message-reader.test.ts',
  },
  {
    what: 'MOST_DOCUMENTS: documents that a language server has open',
    file: 'packages/bridges/src/lsp/open-documents.ts', from: 'this.#open.size > MOST_DOCUMENTS && ',
    to: 'false && ', test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'MOST_FILES: files whose diagnostics are kept', file: 'packages/bridges/src/lsp/published-diagnostics.ts',
    from: 'this.#last.size > MOST_FILES && ', to: 'false && ', test: 'packages/bridges/test/lsp/bounds.test.ts',
  },
  {
    what: 'URI_CHARS: address in an answer of a language server', file: 'packages/bridges/src/lsp/answers.ts',
    from: 'textOf(uri, URI_CHARS)', to: 'textOf(uri, Infinity)', test: 'packages/bridges/test/lsp/answers.test.ts',
  },
  {
    what: 'TEXT_CHARS: hover text of a language server', file: 'packages/bridges/src/lsp/answers.ts',
    from: '.slice(0, TEXT_CHARS)', to: '', test: 'packages/bridges/test/lsp/answers.test.ts',
  },
  {
    what: 'NAME_CHARS: name of a symbol of a language server', file: 'packages/bridges/src/lsp/answers.ts',
    from: 'textOf(member(value, \'name\'), NAME_CHARS)', to: 'textOf(member(value, \'name\'), Infinity)',
    test: 'packages/bridges/test/lsp/answers.test.ts',
  },
  {
    what: 'MAX_QUESTIONS: questions that no call followed', file: 'packages/bridges/src/models/call-approvals.ts',
    from: 'if (this.#questions.size > MAX_QUESTIONS) this', to: 'if (this.#questions.size < 0) this',
    test: 'packages/bridges/test/models/call-approvals.test.ts',
  },
  {
    what: 'MAX_SEEN: ids of earlier calls that are known', file: 'packages/bridges/src/models/call-ids.ts',
    from: 'if (seen.size > MAX_SEEN) seen', to: 'if (seen.size < 0) seen',
    test: 'packages/bridges/test/models/call-ids.test.ts',
  },
  {
    what: 'MAX_DEPTH: depth of a schema for a model', file: 'packages/bridges/src/models/projector.ts',
    from: 'depth > MAX_DEPTH || ', to: '', test: 'packages/bridges/test/models/project.test.ts',
  },
  {
    what: 'MAX_SCHEMAS: schemas in a schema for a model', file: 'packages/bridges/src/models/projector.ts',
    from: ' || ++this.#schemas > MAX_SCHEMAS', to: '', test: 'packages/bridges/test/models/project.test.ts',
  },
  {
    what: 'MAX_NOTE_CHARS: note in the description of a schema', file: 'packages/bridges/src/models/projector.ts',
    from: 'text.length <= MAX_NOTE_CHARS', to: 'true', test: 'packages/bridges/test/models/project.test.ts',
  },
  {
    what: 'MAX_SHOWN_CHARS: name of a file that is not sent', file: 'packages/bridges/src/models/result-parts.ts',
    from: 'text.slice(0, MAX_SHOWN_CHARS)', to: 'text', test: 'packages/bridges/test/models/result-parts.test.ts',
  },
  {
    what: 'MAX_DESCRIPTION_CHARS: description of a tool for chat completions',
    file: 'packages/bridges/src/openai/chat.ts', from: 'description.length > MAX_DESCRIPTION_CHARS', to: 'false',
    test: 'packages/bridges/test/openai/function-tool.test.ts',
  },
  {
    what: 'MAX_REASON_CHARS: reason of a rejection', file: 'packages/bridges/src/questions/question-form.ts',
    from: '.slice(0, MAX_REASON_CHARS)', to: '', test: 'packages/bridges/test/questions/question-form.test.ts',
  },
  {
    what: 'MAX_CHARS: answer of a model that is text', file: 'packages/bridges/src/text/answer.ts',
    from: 'if (text.length > MAX_CHARS) return', to: 'if (text.length < 0) return',
    test: 'packages/bridges/test/text/text.test.ts',
  },
  {
    what: 'MAX_CALLS: calls in one answer of a model', file: 'packages/bridges/src/text/answer.ts',
    from: 'this.calls.length >= MAX_CALLS', to: 'false', test: 'packages/bridges/test/text/text.test.ts',
  },
  {
    what: 'A secret that begins another one leaves nothing of it',
    file: 'packages/bridges/src/connected/server-log.ts',
    from: 'written.sort(([one], [other]) => other.length - one.length)', to: '',
    test: 'packages/bridges/test/mcp/connecting/redaction.test.ts',
  },
  {
    what: 'A call in an agent SDK runs as the person saw it', file: 'packages/bridges/src/models/call-approvals.ts',
    from: ' || isSame(approved.question, request)', to: ' || true',
    test: 'packages/bridges/test/ai-sdk/tool-approvals.test.ts',
  },
  {
    what: 'An approval in an agent SDK is used once', file: 'packages/bridges/src/models/call-approvals.ts',
    from: 'this.#approved.delete(id)', to: '', test: 'packages/bridges/test/models/call-approvals.test.ts',
  },
  {
    what: 'A tool cannot use the approval of the call that runs it',
    file: 'packages/bridges/src/models/call-approvals.ts', from: 'if (calledBy !== undefined) return',
    to: 'if (false) return', test: 'packages/bridges/test/models/call-approvals.test.ts',
  },
  {
    what: 'Only an answer that was offered allows a call of an editor',
    file: 'packages/bridges/src/acp/interactor.ts',
    from: 'if (chosen === undefined) return { status: \'rejected\', reason: \'the client sent an invalid answer\' }',
    to: 'if (chosen === undefined) return responseTo(question, options[0]!, parts.clientName)',
    test: 'packages/bridges/test/acp/session.test.ts',
  },
  {
    what: 'A call that is always rejected is not asked for again', file: 'packages/bridges/src/acp/interactor.ts',
    from: 'if (rejected.has(key)) return', to: 'if (false) return',
    test: 'packages/bridges/test/acp/session.test.ts',
  },
  {
    what: 'Calls of a sub-agent are not shown in the session of its parent',
    file: 'packages/bridges/src/acp/updates.ts', from: '\'sessionId\' in event && event.sessionId === session.id',
    to: '\'sessionId\' in event', test: 'packages/bridges/test/acp/session.test.ts',
  },
  {
    what: 'A language server does not edit files', file: 'packages/bridges/src/lsp/client-capabilities.ts',
    from: 'return { applied: false,', to: 'return { applied: true,',
    test: 'packages/bridges/test/lsp/language-servers.test.ts',
  },
  {
    what: 'A call of a text answer names a known tool or is marked', file: 'packages/bridges/src/text/answer.ts',
    from: 'found.length > 0 && found.every((one) => this.#isKnown(one))', to: 'found.length > 0',
    test: 'packages/bridges/test/text/text.test.ts',
  },
  {
    what: 'A repeated id of a model is unique for the host', file: 'packages/bridges/src/models/call-ids.ts',
    from: 'return isKnown || SUFFIX.test(id) ?', to: 'return SUFFIX.test(id) ?',
    test: 'packages/bridges/test/models/call-ids.test.ts',
  },
  {
    what: 'MOST_FIRST: messages of a connection that are kept',
    file: 'packages/bridges/src/mcp/connecting/frame-tap.ts',
    from: 'const isFirst = this.#first.length < MOST_FIRST', to: 'const isFirst = true',
    test: 'packages/bridges/test/mcp/connecting/frame-tap.test.ts',
  },
]
