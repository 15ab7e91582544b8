import type { Mutant } from '../mutant.ts'

export const TOOLS_BUNDLED: readonly Mutant[] = [
  {
    what: 'REVERSE_BYTES: reverse of a patch', file: 'packages/tools-bundled/src/apply-patch/apply-patch.ts',
    from: 'reversePatch(files, wasExecutable, REVERSE_BYTES)', to: 'reversePatch(files, wasExecutable, Infinity)',
    test: 'packages/tools-bundled/src/apply-patch/test/apply-patch.test.ts',
  },
  {
    what: 'MOST_COMPARED: compared lines of one patch', file: 'packages/tools-bundled/src/apply-patch/find-lines.ts',
    from: 'if (this.#compared > MOST_COMPARED)', to: 'if (this.#compared < 0)',
    test: 'packages/tools-bundled/src/apply-patch/test/apply-patch.test.ts',
  },
  {
    what: 'MOST_LINES: lines of a file that a patch changes',
    file: 'packages/tools-bundled/src/apply-patch/find-lines.ts', from: 'if (lines.length > MOST_LINES) throw',
    to: 'if (lines.length < 0) throw', test: 'packages/tools-bundled/src/apply-patch/test/apply-patch.test.ts',
  },
  {
    what: 'MOST_FILES: files of one patch', file: 'packages/tools-bundled/src/apply-patch/patch.ts',
    from: 'if (files.length > MOST_FILES)', to: 'if (files.length < 0)',
    test: 'packages/tools-bundled/src/apply-patch/test/apply-patch.test.ts',
  },
  {
    what: 'MOST_BYTES: files that one patch reads', file: 'packages/tools-bundled/src/apply-patch/resolve-patch.ts',
    from: 'if (this.#bytes > MOST_BYTES)', to: 'if (this.#bytes < 0)',
    test: 'packages/tools-bundled/src/apply-patch/test/apply-patch.test.ts',
  },
  {
    what: 'SHOWN_CHARS: missing line in an error', file: 'packages/tools-bundled/src/apply-patch/apply-hunks.ts',
    from: 'text.length > SHOWN_CHARS ?', to: 'false ?',
    test: 'packages/tools-bundled/src/apply-patch/test/apply-patch.test.ts',
  },
  {
    what: 'MAX_TIMEOUT_MS: timeout of a command', file: 'packages/tools-bundled/src/bash/bash.ts',
    from: 'maximum: MAX_TIMEOUT_MS,', to: '', test: 'packages/tools-bundled/test/locked-schemas.test.ts',
  },
  {
    what: 'MAX_CHARS: length of a command line', file: 'packages/tools-bundled/src/bash/parse/parse-command.ts',
    from: 'if (text.length > MAX_CHARS) return', to: 'if (text.length < 0) return',
    test: 'packages/tools-bundled/src/bash/test/parse/bounds.test.ts',
  },
  {
    what: 'MAX_HERE_DOCUMENTS: here-documents of a command line',
    file: 'packages/tools-bundled/src/bash/parse/parse-command.ts',
    from: 'if (count(text, \'<<\') > MAX_HERE_DOCUMENTS) return true', to: '',
    test: 'packages/tools-bundled/src/bash/test/parse/bounds.test.ts',
  },
  {
    what: 'MAX_BRACES: braces of a word', file: 'packages/tools-bundled/src/bash/parse/parse-command.ts',
    from: 'some((word) => count(word, \'{\') > MAX_BRACES)', to: 'some(() => false)',
    test: 'packages/tools-bundled/src/bash/test/parse/bounds.test.ts',
  },
  {
    what: 'MAX_COMMANDS: commands of a command line', file: 'packages/tools-bundled/src/bash/parse/line-parts.ts',
    from: 'if (commands.length > MAX_COMMANDS) throw', to: 'if (commands.length < 0) throw',
    test: 'packages/tools-bundled/src/bash/test/parse/bounds.test.ts',
  },
  {
    what: 'MAX_DEPTH: depth of a command line', file: 'packages/tools-bundled/src/bash/parse/line-parts.ts',
    from: 'if (depth > MAX_DEPTH) throw', to: 'if (depth < 0) throw',
    test: 'packages/tools-bundled/src/bash/test/parse/bounds.test.ts',
  },
  {
    what: 'MAX_DEPTH: commands in commands that rules judge',
    file: 'packages/tools-bundled/src/bash/policy/command-names.ts', from: 'if (depth > MAX_DEPTH || ', to: 'if (',
    test: 'packages/tools-bundled/src/bash/test/policy/bounds.test.ts',
  },
  {
    what: 'MAX_COMMANDS: commands that rules judge', file: 'packages/tools-bundled/src/bash/policy/findings.ts',
    from: 'return ++this.#commands <= MAX_COMMANDS', to: 'return ++this.#commands > 0',
    test: 'packages/tools-bundled/src/bash/test/policy/bounds.test.ts',
  },
  {
    what: 'MAX_STARTS: words where a command may start in a script that cannot be parsed',
    file: 'packages/tools-bundled/src/bash/policy/command-names.ts', from: '.take(MAX_STARTS)', to: '',
    test: 'packages/tools-bundled/src/bash/test/policy/bounds.test.ts',
  },
  {
    what: 'MAX_STARTS: words where a command may start',
    file: 'packages/tools-bundled/src/bash/policy/nested-commands.ts', from: 'args.slice(0, MAX_STARTS)', to: 'args',
    test: 'packages/tools-bundled/src/bash/test/policy/bounds.test.ts',
  },
  {
    what: 'MAX_DEPTH: wrappers around a command', file: 'packages/tools-bundled/src/bash/policy/wrappers.ts',
    from: 'depth < MAX_DEPTH', to: 'true', test: 'packages/tools-bundled/src/bash/test/policy/bounds.test.ts',
  },
  {
    what: 'MAX_DEPTH: commands that a reading command runs',
    file: 'packages/tools-bundled/src/bash/policy/reading-commands.ts', from: 'depth > MAX_DEPTH ? undefined : ',
    to: '', test: 'packages/tools-bundled/src/bash/test/policy/bounds.test.ts',
  },
  {
    what: 'MAX_MATCHES: files that a pattern matches', file: 'packages/tools-bundled/src/bash/run/file-names.ts',
    from: 'if (found.length > MAX_MATCHES)', to: 'if (found.length < 0)',
    test: 'packages/tools-bundled/src/bash/test/run/file-names.test.ts',
  },
  {
    what: 'MOST_BYTES: output of a command', file: 'packages/tools-bundled/src/bash/run/transcript.ts',
    from: 'headAndTail(text, MOST_BYTES)', to: 'text', test: 'packages/tools-bundled/src/bash/test/bash.test.ts',
  },
  {
    what: 'CONSOLE_CHARS: console output of a program',
    file: 'packages/tools-bundled/src/model/programs/console-text.ts', from: 'whole.slice(0, Math.max(room, 0))',
    to: 'whole', test: 'packages/tools-bundled/src/code-exec/test/code-exec.test.ts',
  },
  {
    what: 'CODE_CHARS: length of a program', file: 'packages/tools-bundled/src/code-exec/code-exec.ts',
    from: ', maxLength: CODE_CHARS', to: '', test: 'packages/tools-bundled/test/locked-schemas.test.ts',
  },
  {
    what: 'DECLARATION_CHARS: declarations of tools for a program',
    file: 'packages/tools-bundled/src/code-mode/declarations.ts',
    from: 'if (declarations.length <= DECLARATION_CHARS) return', to: 'if (declarations.length >= 0) return',
    test: 'packages/tools-bundled/src/code-mode/test/declarations.test.ts',
  },
  {
    what: 'DECLARATION_CHARS: names of tools for a program',
    file: 'packages/tools-bundled/src/code-mode/declarations.ts', from: ' > DECLARATION_CHARS)', to: ' < 0)',
    test: 'packages/tools-bundled/src/code-mode/test/declarations.test.ts',
  },
  {
    what: 'COMMENT_CHARS: description of a function of a program',
    file: 'packages/tools-bundled/src/code-mode/declarations.ts',
    from: 'commentOf(tool.description, \'\', COMMENT_CHARS)', to: 'commentOf(tool.description, \'\', Infinity)',
    test: 'packages/tools-bundled/src/code-mode/test/declarations.test.ts',
  },
  {
    what: 'REDIRECTS: redirects of a request', file: 'packages/tools-bundled/src/model/http.ts',
    from: 'hops <= REDIRECTS', to: 'true', test: 'packages/tools-bundled/src/web-fetch/test/web-fetch.test.ts',
  },
  {
    what: 'PATH_CHARS: path that has folders above it', file: 'packages/tools-bundled/src/model/paths.ts',
    from: 'if (!isPlain(path) || path.length > PATH_CHARS)', to: 'if (!isPlain(path))',
    test: 'packages/tools-bundled/test/file-arguments.test.ts',
  },
  {
    what: 'MAX_NOTES: notes of guidance', file: 'packages/tools-bundled/src/prompts/guidance.ts',
    from: ' || notes.length > MAX_NOTES', to: '', test: 'packages/tools-bundled/test/prompts/guidance.test.ts',
  },
  {
    what: 'MAX_STEPS: steps of a kit', file: 'packages/tools-bundled/src/prompts/kit-steps.ts',
    from: ' || value.length > MAX_STEPS', to: '', test: 'packages/tools-bundled/test/prompts/kits.test.ts',
  },
  {
    what: 'MAX_ARGUMENTS: arguments of a kit', file: 'packages/tools-bundled/src/prompts/kits.ts',
    from: ' || list.length > MAX_ARGUMENTS', to: '', test: 'packages/tools-bundled/test/prompts/kits.test.ts',
  },
  {
    what: 'MAX_NEEDS: tools that a kit needs', file: 'packages/tools-bundled/src/prompts/yaml-files.ts',
    from: ' && value.length <= MAX_NEEDS', to: '', test: 'packages/tools-bundled/test/prompts/kits.test.ts',
  },
  {
    what: 'MAX_FILES: YAML files of a folder', file: 'packages/tools-bundled/src/prompts/yaml-files.ts',
    from: 'files.slice(0, MAX_FILES)', to: 'files', test: 'packages/tools-bundled/test/prompts/kits.test.ts',
  },
  {
    what: 'MAX_BYTES: YAML file', file: 'packages/tools-bundled/src/prompts/yaml-files.ts',
    from: 'if (stat.size > MAX_BYTES) throw', to: 'if (stat.size < 0) throw',
    test: 'packages/tools-bundled/test/prompts/kits.test.ts',
  },
  {
    what: 'PROMPT_CHARS: text for a system prompt', file: 'packages/tools-bundled/src/prompts/prompt-sections.ts',
    from: 'if (longer.length <= left) text', to: 'if (longer.length >= 0) text',
    test: 'packages/tools-bundled/test/prompts/prompt-sections.test.ts',
  },
  {
    what: 'LINE_CHARS: description of a skill in a system prompt',
    file: 'packages/tools-bundled/src/prompts/prompt-sections.ts', from: 'line.length <= LINE_CHARS ?', to: 'true ?',
    test: 'packages/tools-bundled/test/prompts/prompt-sections.test.ts',
  },
  {
    what: 'computeMs: time that a program computes',
    file: 'packages/tools-bundled/src/model/programs/run-program.ts', from: 'new ComputeLimit(run.computeMs)',
    to: 'new ComputeLimit(1e9)', test: 'packages/tools-bundled/src/code-exec/test/code-exec.test.ts',
  },
  {
    what: 'DEADLINE_MS: time to read a PDF', file: 'packages/tools-bundled/src/model/pdf/pdf-text.ts',
    from: '{ signal, deadlineMs })', to: '{ signal, deadlineMs: 1e9 })',
    test: 'packages/tools-bundled/src/pdf-read/test/pdf-read.test.ts',
  },
]
