import type { Mutant } from '../mutant.ts'

export const TOOLS_BUNDLED_PROMISES: readonly Mutant[] = [
  {
    what: 'A plan that changed while it was read is not accepted',
    file: 'packages/tools-bundled/src/plan-exit/plan-exit.ts', from: 'if (planText(shown) !== planText(before)) {',
    to: 'if (false) {', test: 'packages/tools-bundled/src/plan-exit/test/plan-exit.test.ts',
  },
  {
    what: 'Plan mode ends only if the plan is accepted', file: 'packages/tools-bundled/src/plan-exit/plan-exit.ts',
    from: 'decision === \'accepted\' ? await writePlan(session, { ...shown, planning: false }) : shown',
    to: 'await writePlan(session, { ...shown, planning: false })',
    test: 'packages/tools-bundled/src/plan-exit/test/plan-exit.test.ts',
  },
  {
    what: 'Two options of a question have different labels', file: 'packages/tools-bundled/src/question/question.ts',
    from: 'if (new Set(options.map(({ label }) => label)).size < options.length) {', to: 'if (false) {',
    test: 'packages/tools-bundled/src/question/test/question.test.ts',
  },
  {
    what: 'A pattern that matches a file named like an option is refused',
    file: 'packages/tools-bundled/src/bash/run/stage-argv.ts', from: 'if (path.startsWith(\'-\')) {',
    to: 'if (false) {', test: 'packages/tools-bundled/src/bash/test/bash.test.ts',
  },
  {
    what: 'A destructive command is denied in every mode',
    file: 'packages/tools-bundled/src/bash/policy/command-names.ts',
    from: 'if (destruction !== undefined) findings.deny(destruction)', to: '',
    test: 'packages/tools-bundled/src/bash/test/authorization.test.ts',
  },
  {
    what: 'A fork bomb is denied', file: 'packages/tools-bundled/src/bash/policy/analyze-command.ts',
    from: 'findings.deny(\'it is a fork bomb\')', to: 'findings.touch(text)',
    test: 'packages/tools-bundled/src/bash/test/policy/denied.test.ts',
  },
  {
    what: 'A redirection to a file outside of the workspace is denied',
    file: 'packages/tools-bundled/src/bash/policy/analyze-command.ts',
    from: 'if (path === undefined) findings.deny(`the file ${pathText(target.file)} is outside the workspace`)',
    to: 'if (path === undefined) findings.touch(target.file.text)',
    test: 'packages/tools-bundled/src/bash/test/policy/denied.test.ts',
  },
  {
    what: 'A redirection to a protected place is denied',
    file: 'packages/tools-bundled/src/bash/policy/analyze-command.ts',
    from: 'target.file, opened)) findings.deny(why)', to: 'target.file, opened)) findings.touch(why)',
    test: 'packages/tools-bundled/src/bash/test/policy/denied.test.ts',
  },
  {
    what: 'Input from a file outside of the workspace is denied',
    file: 'packages/tools-bundled/src/bash/policy/analyze-command.ts',
    from: 'findings.deny(`the file ${pathText(input)} is outside the workspace`)',
    to: 'findings.touch(pathText(input))', test: 'packages/tools-bundled/src/bash/test/policy/denied.test.ts',
  },
  {
    what: 'A line with invisible characters is not read',
    file: 'packages/tools-bundled/src/bash/parse/parse-command.ts',
    from: 'if (!text.isWellFormed() || CONTROL.test(text)) return', to: 'if (!text.isWellFormed()) return',
    test: 'packages/tools-bundled/src/bash/test/policy/denied.test.ts',
  },
  {
    what: 'A line that is not fully parsed is no plan',
    file: 'packages/tools-bundled/src/bash/parse/parse-command.ts', from: 'return isFullyParsed(text, script) ?',
    to: 'return true ?', test: 'packages/tools-bundled/src/bash/test/parse/oracle.test.ts',
  },
  {
    what: 'A line that writes a file does not run unasked',
    file: 'packages/tools-bundled/src/bash/policy/reading-commands.ts', from: '  outputs.length === 0 && !inputs',
    to: '  !inputs', test: 'packages/tools-bundled/src/bash/test/policy/read-only.test.ts',
  },
  {
    what: 'A line that reads outside of the workspace does not run unasked',
    file: 'packages/tools-bundled/src/bash/policy/reading-commands.ts',
    from: 'if (key === undefined || operandsOf(inner).some((word) => leavesWorkspace(word.text, context)))',
    to: 'if (key === undefined)', test: 'packages/tools-bundled/src/bash/test/policy/read-only.test.ts',
  },
  {
    what: 'A line with another variable of the environment does not run unasked',
    file: 'packages/tools-bundled/src/bash/policy/reading-commands.ts',
    from: 'variables.every((name) => ENVIRONMENT.has(name))', to: 'true',
    test: 'packages/tools-bundled/src/bash/test/policy/read-only.test.ts',
  },
  {
    what: 'A repository with a link is refused', file: 'packages/tools-bundled/src/model/git-repository.ts',
    from: 'if (link !== undefined) {', to: 'if (false) {',
    test: 'packages/tools-bundled/src/git/test/git-attacks.test.ts',
  },
  {
    what: 'A repository whose index leads out is refused',
    file: 'packages/tools-bundled/src/model/git-repository.ts', from: 'if (unsafe === undefined) return submodules',
    to: 'return submodules', test: 'packages/tools-bundled/src/git/test/git-attacks.test.ts',
  },
  {
    what: 'A clone creates a folder that does not exist',
    file: 'packages/tools-bundled/src/repo-clone/repo-clone.ts',
    from: 'if (entries.some((entry) => entry.name === name)) {', to: 'if (false) {',
    test: 'packages/tools-bundled/src/repo-clone/test/repo-clone.test.ts',
  },
  {
    what: 'A clone follows a redirect of the same host only',
    file: 'packages/tools-bundled/src/repo-clone/smart-http.ts',
    from: 'if (!isSame || !next.pathname.endsWith(suffix)) {',
    to: 'if (next === null || !next.pathname.endsWith(suffix)) {',
    test: 'packages/tools-bundled/src/repo-clone/test/repo-clone.test.ts',
  },
  {
    what: 'A request follows redirects on the same origin only',
    file: 'packages/tools-bundled/src/http-request/http-request.ts', from: 'from.origin === to.origin', to: 'true',
    test: 'packages/tools-bundled/src/http-request/test/http-request.test.ts',
  },
  {
    what: 'A page follows redirects of its host only', file: 'packages/tools-bundled/src/web-fetch/web-fetch.ts',
    from: 'siteOf(from) === siteOf(to)', to: 'true',
    test: 'packages/tools-bundled/src/web-fetch/test/web-fetch.test.ts',
  },
  {
    what: 'A redirect of POST is returned', file: 'packages/tools-bundled/src/model/http.ts',
    from: ' || !isRepeatable(request.method)', to: '',
    test: 'packages/tools-bundled/src/http-request/test/http-request.test.ts',
  },
  {
    what: 'An approval of reading from a host does not cover sending to it',
    file: 'packages/tools-bundled/src/http-request/http-request.ts',
    from: 'hostname === undefined ? NO_URL : `${method} ${hostname}`',
    to: 'hostname === undefined ? NO_URL : hostname',
    test: 'packages/tools-bundled/src/http-request/test/http-request.test.ts',
  },
  {
    what: 'A page has no hidden elements', file: 'packages/tools-bundled/src/web-fetch/html/html-to-markdown.ts',
    from: 'hidden !== undefined || ariaHidden === \'true\' || /display', to: '/display',
    test: 'packages/tools-bundled/src/web-fetch/test/html-to-markdown.test.ts',
  },
  {
    what: 'A page has links to http, https and mailto only',
    file: 'packages/tools-bundled/src/web-fetch/html/html-to-markdown.ts',
    from: 'return url !== null && /^(?:https?|mailto):$/.test(url.protocol)', to: 'return url !== null',
    test: 'packages/tools-bundled/src/web-fetch/test/html-to-markdown.test.ts',
  },
  {
    what: 'A skill that has changed is not used', file: 'packages/tools-bundled/src/skill/skill.ts',
    from: 'if (hash(\'sha512\', bytes, \'hex\') === files.get(SKILL_FILE)) return', to: 'return',
    test: 'packages/tools-bundled/src/skill/test/skill.test.ts',
  },
  {
    what: 'A search counts before it is sent', file: 'packages/tools-bundled/src/web-search/web-search.ts',
    from: 'await turns.take(runtime.session, () => countCall(runtime.session, callsPerSession))',
    to: 'await countCall(runtime.session, callsPerSession)',
    test: 'packages/tools-bundled/src/web-search/test/web-search.test.ts',
  },
  {
    what: 'A tool search finds no bundled tools', file: 'packages/tools-bundled/src/tool-search/tool-search.ts',
    from: 'catalog.tools(sessionId).filter(({ name }) => !isBundledTool(name))', to: 'catalog.tools(sessionId)',
    test: 'packages/tools-bundled/src/tool-search/test/tool-search.test.ts',
  },
  {
    what: 'A skill is one line of a system prompt, without hidden characters',
    file: 'packages/tools-bundled/src/prompts/prompt-sections.ts',
    from: 'visibleText(description.replaceAll(/\\s+/g, \' \').trim())', to: 'description',
    test: 'packages/tools-bundled/test/prompts/prompt-sections.test.ts',
  },
  {
    what: 'The key of a path without a normal form covers this path only',
    file: 'packages/tools-bundled/src/model/paths.ts', from: 'subjects: [{ ...named, within: [] }]',
    to: 'subjects: [{ ...named, within: foldersAbove(key) }]',
    test: 'packages/tools-bundled/test/file-arguments.test.ts',
  },
]
