import type { OptionList } from './option-list.ts'

const letters = (text: string): readonly string[] => Array.from(text, (letter) => `-${letter}`)

/**
 * Programs and the options with which they only read and tell. What can write, run another program, follow links to
 * elsewhere or take its list of files from somewhere else is left out on purpose.
 */
export const READING_PROGRAMS: ReadonlyMap<string, OptionList> = new Map<string, OptionList>([
  ['ls', {
    flags: [
      ...letters('aAlhRrtSXUsFdiGgonpqQ1kBcuvmxCNZ'), '--all', '--almost-all', '--human-readable', '--recursive',
      '--reverse', '--size', '--directory', '--inode', '--full-time', '--group-directories-first', '--color', '--color=', '--classify',
    ],
    values: { '--sort': 'text', '--time': 'text', '--time-style': 'text', '-I': 'text', '--ignore': 'text', '-w': 'text', '--format': 'text' },
    operands: 'paths',
  }],
  ['cat', { flags: [...letters('AbeEnstTuv'), '--number', '--show-all', '--squeeze-blank'], operands: 'paths' }],
  ['echo', { anything: true, operands: 'texts' }],
  ['printf', { operands: 'texts' }],
  ['pwd', { flags: letters('LP'), operands: 'none' }],
  ['true', { anything: true, operands: 'texts' }],
  ['false', { anything: true, operands: 'texts' }],
  ['whoami', { operands: 'none' }],
  ['id', { flags: letters('ugGnr'), operands: 'none' }],
  ['uname', { flags: [...letters('asnrvmpio'), '--all'], operands: 'none' }],
  ['nproc', { flags: ['--all'], operands: 'none' }],
  ['date', { flags: [...letters('uR'), '--utc', '--iso-8601', '--iso-8601=', '-I', '-Is', '-Iseconds'], values: { '-d': 'text', '--date': 'text', '-r': 'path' }, operands: 'texts', operandForm: /^\+/ }],
  ['sleep', { operands: 'texts' }],
  ['seq', { flags: ['-w'], values: { '-s': 'text', '-f': 'text' }, operands: 'texts' }],
  ['basename', { flags: letters('az'), values: { '-s': 'text' }, operands: 'texts' }],
  ['dirname', { flags: ['-z'], operands: 'texts' }],
  ['realpath', { flags: [...letters('emsqz')], values: { '--relative-to': 'path', '--relative-base': 'path' }, operands: 'paths' }],
  ['readlink', { flags: letters('femnqsvz'), operands: 'paths' }],
  ['which', { flags: ['-a'], operands: 'texts' }],
  ['head', { flags: [...letters('qvz'), '--quiet', '--verbose'], values: { '-n': 'text', '-c': 'text', '--lines': 'text', '--bytes': 'text' }, numbers: true, operands: 'paths' }],
  ['tail', { flags: [...letters('qvz'), '--quiet', '--verbose'], values: { '-n': 'text', '-c': 'text', '--lines': 'text', '--bytes': 'text' }, numbers: true, operands: 'paths' }],
  ['wc', { flags: [...letters('clLmw'), '--lines', '--words', '--bytes', '--chars', '--max-line-length'], operands: 'paths' }],
  ['nl', { values: { '-b': 'text', '-w': 'text', '-s': 'text', '-n': 'text', '-v': 'text' }, operands: 'paths' }],
  ['tac', { operands: 'paths' }],
  ['rev', { operands: 'paths' }],
  ['cut', { flags: [...letters('nsz'), '--complement', '--only-delimited'], values: { '-d': 'text', '-f': 'text', '-c': 'text', '-b': 'text', '--delimiter': 'text', '--fields': 'text', '--characters': 'text', '--output-delimiter': 'text' }, operands: 'paths' }],
  ['tr', { flags: [...letters('cCdst'), '--delete', '--squeeze-repeats', '--complement'], operands: 'texts' }],
  ['sort', { flags: [...letters('bcCdfgiMhnRrsuVz'), '--numeric-sort', '--reverse', '--unique', '--human-numeric-sort', '--version-sort', '--ignore-case', '--stable'], values: { '-k': 'text', '-t': 'text', '--key': 'text', '--field-separator': 'text' }, operands: 'paths' }],
  // Its second operand is a file it writes.
  ['uniq', { flags: [...letters('cdDiuz'), '--count', '--repeated', '--unique', '--ignore-case'], values: { '-f': 'text', '-s': 'text', '-w': 'text' }, operands: 'paths', maxOperands: 1 }],
  ['comm', { flags: [...letters('123z'), '--check-order', '--nocheck-order'], operands: 'paths', maxOperands: 2 }],
  ['paste', { flags: letters('sz'), values: { '-d': 'text' }, operands: 'paths' }],
  ['column', { flags: letters('tx'), values: { '-s': 'text', '-o': 'text', '-c': 'text' }, operands: 'paths' }],
  ['fold', { flags: letters('bs'), values: { '-w': 'text' }, operands: 'paths' }],
  ['diff', { flags: [...letters('abBcdeEilNnqstTuwyZ'), '--brief', '--unified', '--side-by-side', '--ignore-all-space', '--color', '--color='], values: { '-U': 'text', '-C': 'text', '-x': 'text', '--exclude': 'text', '--label': 'text', '-W': 'text' }, operands: 'paths', maxOperands: 2 }],
  ['cmp', { flags: letters('bls'), operands: 'paths', maxOperands: 2 }],
  ['stat', { flags: [...letters('ft'), '--terse'], values: { '-c': 'text', '--format': 'text', '--printf': 'text' }, operands: 'paths' }],
  ['file', { flags: [...letters('bikNnr0'), '--brief', '--mime', '--mime-type', '--mime-encoding'], values: { '-F': 'text' }, operands: 'paths' }],
  ['du', { flags: [...letters('abchkmsSx'), '--all', '--human-readable', '--summarize', '--total', '--apparent-size'], values: { '-d': 'text', '--max-depth': 'text', '--exclude': 'text' }, operands: 'paths' }],
  ['df', { flags: [...letters('ahHiklPT'), '--human-readable', '--total'], operands: 'paths' }],
  ['tree', { flags: [...letters('adfiqpshugDFrtnCA'), '--dirsfirst', '--noreport', '--gitignore', '--du', '--prune'], values: { '-L': 'text', '-I': 'text', '-P': 'text' }, operands: 'paths' }],
  ['md5sum', { operands: 'paths' }],
  ['sha1sum', { operands: 'paths' }],
  ['sha256sum', { operands: 'paths' }],
  ['hexdump', { flags: letters('bcCdovx'), values: { '-n': 'text', '-s': 'text' }, operands: 'paths' }],
  ['od', { flags: letters('abcdfiloxv'), values: { '-A': 'text', '-t': 'text', '-N': 'text', '-j': 'text' }, operands: 'paths' }],
  ['strings', { flags: letters('a'), values: { '-n': 'text' }, operands: 'paths' }],
  ['grep', {
    flags: [
      ...letters('abcEFGhHiILlnoPqrsTUvwxyZz'), '--recursive', '--ignore-case', '--line-number', '--files-with-matches',
      '--files-without-match', '--count', '--word-regexp', '--invert-match', '--extended-regexp', '--fixed-strings', '--perl-regexp',
      '--only-matching', '--no-filename', '--with-filename', '--quiet', '--silent', '--color', '--color=', '--text', '--no-messages',
    ],
    values: {
      '-A': 'text', '-B': 'text', '-C': 'text', '-e': 'text', '-f': 'path', '-m': 'text', '-d': 'text', '--include': 'text', '--exclude': 'text',
      '--exclude-dir': 'text', '--after-context': 'text', '--before-context': 'text', '--context': 'text', '--max-count': 'text', '--regexp': 'text',
    },
    numbers: true, operands: 'text-then-paths', firstGivenBy: ['-e', '-f', '--regexp'],
  }],
  ['rg', {
    flags: [
      ...letters('acFHiIlnNopqsSUuvwx0'), '--files', '--files-with-matches', '--files-without-match', '--hidden', '--no-ignore', '--ignore-case',
      '--smart-case', '--case-sensitive', '--fixed-strings', '--line-number', '--no-line-number', '--count', '--count-matches', '--only-matching',
      '--multiline', '--json', '--heading', '--no-heading', '--no-filename', '--with-filename', '--word-regexp', '--invert-match', '--stats',
      '--quiet', '--pcre2', '--type-list', '--vimgrep', '--column', '--trim',
    ],
    values: {
      '-A': 'text', '-B': 'text', '-C': 'text', '-e': 'text', '-f': 'path', '-g': 'text', '-m': 'text', '-t': 'text', '-T': 'text', '-M': 'text', '-d': 'text', '-j': 'text',
      '--glob': 'text', '--iglob': 'text', '--type': 'text', '--type-not': 'text', '--max-count': 'text', '--max-depth': 'text', '--context': 'text', '--color': 'text',
      '--after-context': 'text', '--before-context': 'text', '--regexp': 'text', '--sort': 'text', '--max-columns': 'text', '--replace': 'text', '-r': 'text',
    },
    operands: 'text-then-paths', firstGivenBy: ['-e', '-f', '--regexp', '--files', '--type-list'],
  }],
])
