import type { Mutant } from '../mutant.ts'

export const TOOLS_BUNDLED_FILES: readonly Mutant[] = [
  {
    what: 'MAX_BYTES: response of a request', file: 'packages/tools-bundled/src/http-request/http-request.ts',
    from: 'maxBytes: () => MAX_BYTES', to: 'maxBytes: () => Infinity',
    test: 'packages/tools-bundled/src/http-request/test/http-request.test.ts',
  },
  {
    what: 'HEADER_CHARS: header of a response', file: 'packages/tools-bundled/src/http-request/http-request.ts',
    from: 'value.length > HEADER_CHARS ?', to: 'false ?',
    test: 'packages/tools-bundled/src/http-request/test/http-request.test.ts',
  },
  {
    what: 'MOST_ENTRIES: entries of a list', file: 'packages/tools-bundled/src/list/list.ts',
    from: 'if (entries.length === MOST_ENTRIES) return', to: 'if (entries.length < 0) return',
    test: 'packages/tools-bundled/src/list/test/list.test.ts',
  },
  {
    what: 'MAX_BYTES: PDF that is read', file: 'packages/tools-bundled/src/pdf-read/pdf-read.ts',
    from: 'if (size > MAX_BYTES)', to: 'if (size < 0)',
    test: 'packages/tools-bundled/src/pdf-read/test/pdf-read.test.ts',
  },
  {
    what: 'PLAN_CHARS: length of a plan', file: 'packages/tools-bundled/src/plan/plan.ts',
    from: 'if (planText(next).length > PLAN_CHARS)', to: 'if (planText(next).length < 0)',
    test: 'packages/tools-bundled/src/plan/test/plan.test.ts',
  },
  {
    what: 'MAX_BYTES: text that read returns', file: 'packages/tools-bundled/src/read/read.ts',
    from: 'maxBytes: MAX_BYTES,', to: 'maxBytes: Infinity,',
    test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'MAX_BYTES: range of bytes that read returns', file: 'packages/tools-bundled/src/read/read.ts',
    from: 'Math.min(args.byte_end ?? size, size, start + MAX_BYTES)', to: 'Math.min(args.byte_end ?? size, size)',
    test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'COUNT_BYTES: file whose lines are counted', file: 'packages/tools-bundled/src/read/read.ts',
    from: ' countBytes: COUNT_BYTES,', to: ' countBytes: Infinity,',
    test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'SCAN_BYTES: file that is searched for a line', file: 'packages/tools-bundled/src/read/read.ts',
    from: 'Math.min(size, SCAN_BYTES)', to: 'size', test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'MAX_UTF16_BYTES: UTF-16 file', file: 'packages/tools-bundled/src/read/read.ts',
    from: 'if (size > MAX_UTF16_BYTES)', to: 'if (size < 0)',
    test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'MAX_IMAGE_BYTES: image', file: 'packages/tools-bundled/src/read/read.ts',
    from: 'if (size > MAX_IMAGE_BYTES)', to: 'if (size < 0)',
    test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'MAX_BASE64_BYTES: bytes that are not text', file: 'packages/tools-bundled/src/read/read.ts',
    from: 'found.subarray(0, MAX_BASE64_BYTES)', to: 'found',
    test: 'packages/tools-bundled/src/read/test/read.test.ts',
  },
  {
    what: 'REDIRECTS: redirects of a repository', file: 'packages/tools-bundled/src/repo-clone/smart-http.ts',
    from: 'hops <= REDIRECTS', to: 'true', test: 'packages/tools-bundled/src/repo-clone/test/repo-clone.test.ts',
  },
  {
    what: 'MOST_FILES: project files that an overview reads',
    file: 'packages/tools-bundled/src/repo-overview/entry-points.ts', from: 'found.slice(0, MOST_FILES)',
    to: 'found', test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_BYTES: project file of an overview',
    file: 'packages/tools-bundled/src/repo-overview/entry-points.ts', from: 'size > MOST_BYTES ? {} : ', to: '',
    test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_DEPTH: depth of a project file', file: 'packages/tools-bundled/src/repo-overview/entry-points.ts',
    from: 'path.split(\'/\').length <= MOST_DEPTH && ', to: '',
    test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_NAMES: entry points of a project file',
    file: 'packages/tools-bundled/src/repo-overview/entry-points.ts',
    from: 'Object.entries(value).slice(0, MOST_NAMES)', to: 'Object.entries(value)',
    test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_CHARS: text of a project file', file: 'packages/tools-bundled/src/repo-overview/entry-points.ts',
    from: 'text.length > MOST_CHARS ?', to: 'false ?',
    test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_FOLDERS: folders of an overview', file: 'packages/tools-bundled/src/repo-overview/repo-overview.ts',
    from: 'depthOf(other)).slice(0, MOST_FOLDERS)', to: 'depthOf(other))',
    test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_FOLDERS: root files of an overview',
    file: 'packages/tools-bundled/src/repo-overview/repo-overview.ts', from: 'toSorted().slice(0, MOST_FOLDERS)',
    to: 'toSorted()', test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'MOST_ROWS: folders with tests in an overview',
    file: 'packages/tools-bundled/src/repo-overview/repo-overview.ts', from: 'mostFirst(tests).slice(0, MOST_ROWS)',
    to: 'mostFirst(tests)', test: 'packages/tools-bundled/src/repo-overview/test/repo-overview.test.ts',
  },
  {
    what: 'LIST_CHARS: list of skills in an error', file: 'packages/tools-bundled/src/skill/skill.ts',
    from: 'if (text.length + line.length < LIST_CHARS) text', to: 'text',
    test: 'packages/tools-bundled/src/skill/test/skill.test.ts',
  },
  {
    what: 'MOST_FILES: files of a skill that are named', file: 'packages/tools-bundled/src/skill/skill.ts',
    from: '.slice(0, MOST_FILES)', to: '', test: 'packages/tools-bundled/src/skill/test/skill.test.ts',
  },
  {
    what: 'MAX_TIMEOUT_MS: timeout of tests', file: 'packages/tools-bundled/src/test-runner/test-runner.ts',
    from: 'maximum: MAX_TIMEOUT_MS,', to: '', test: 'packages/tools-bundled/test/locked-schemas.test.ts',
  },
  {
    what: 'DESCRIPTION_CHARS: description of a tool that is found',
    file: 'packages/tools-bundled/src/tool-search/tool-search.ts', from: 'text.length <= DESCRIPTION_CHARS ?',
    to: 'true ?', test: 'packages/tools-bundled/src/tool-search/test/tool-search.test.ts',
  },
  {
    what: 'MAX_DEPTH: elements in elements of a page',
    file: 'packages/tools-bundled/src/web-fetch/html/html-to-markdown.ts',
    from: 'if (++depth > MAX_DEPTH || whole.isFull)', to: 'if (++depth < 0 || whole.isFull)',
    test: 'packages/tools-bundled/src/web-fetch/test/html-to-markdown.test.ts',
  },
  {
    what: 'MAX_CHARS: text of a page', file: 'packages/tools-bundled/src/web-fetch/html/markdown-writer.ts',
    from: 'return this.#chars > MAX_CHARS', to: 'return false',
    test: 'packages/tools-bundled/src/web-fetch/test/html-to-markdown.test.ts',
  },
  {
    what: 'MAX_CELLS: cells of a table', file: 'packages/tools-bundled/src/web-fetch/html/markdown-writer.ts',
    from: 'if (this.#cells++ > MAX_CELLS) return', to: '',
    test: 'packages/tools-bundled/src/web-fetch/test/html-to-markdown.test.ts',
  },
  {
    what: 'URL_CHARS: link of a page', file: 'packages/tools-bundled/src/web-fetch/html/html-to-markdown.ts',
    from: ' || href.length > URL_CHARS', to: '',
    test: 'packages/tools-bundled/src/web-fetch/test/html-to-markdown.test.ts',
  },
  {
    what: 'CALLS_PER_SESSION: searches of a session', file: 'packages/tools-bundled/src/web-search/web-search.ts',
    from: 'if (calls >= most)', to: 'if (calls < 0)',
    test: 'packages/tools-bundled/src/web-search/test/web-search.test.ts',
  },
  {
    what: 'SNIPPET_CHARS: text of a search result', file: 'packages/tools-bundled/src/web-search/results.ts',
    from: 'plainText(snippet, SNIPPET_CHARS)', to: 'plainText(snippet, Infinity)',
    test: 'packages/tools-bundled/src/web-search/test/results.test.ts',
  },
  {
    what: 'TITLE_CHARS: title of a search result', file: 'packages/tools-bundled/src/web-search/results.ts',
    from: 'plainText(title, TITLE_CHARS)', to: 'plainText(title, Infinity)',
    test: 'packages/tools-bundled/src/web-search/test/results.test.ts',
  },
  {
    what: 'REASON_CHARS: what a search provider says of an error',
    file: 'packages/tools-bundled/src/web-search/web-search.ts', from: 'plainText(body, REASON_CHARS)',
    to: 'plainText(body, Infinity)', test: 'packages/tools-bundled/src/web-search/test/web-search.test.ts',
  },
  {
    what: 'limit: results of a search', file: 'packages/tools-bundled/src/web-search/results.ts',
    from: 'if (results.length === limit) break', to: '',
    test: 'packages/tools-bundled/src/web-search/test/results.test.ts',
  },
]
