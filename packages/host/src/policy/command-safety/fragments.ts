/**
 * Pieces of patterns for command lines of any shell. They say where a command can begin, so that a text which merely speaks
 * of one is left alone: `git log --grep "rm -rf /"` removes nothing.
 */
const BACKTICK = '`'
const WRAPPERS = 'sudo|doas|env|nohup|nice|ionice|time|timeout|exec|eval|xargs|command|builtin|busybox|then|do|else|stdbuf|setsid'
/** Options of a wrapper, with the user of `-u`, and what is set for it. */
const WRAPPER_WORDS = String.raw`(?:-u\s+\S+|-\S*|\w+=\S*|\d\S*)\s+`
const BEGINS = String.raw`(?:^|[\n;&|(){}${BACKTICK}]|\s-l?c\s*\\?["']|<\()\s*`

/** One of these patterns. */
export const anyOf = (...patterns: readonly string[]): string => `(?:${patterns.join('|')})`

/** Matches up to a command that bears one of these names, by whichever path. */
export const command = (...names: readonly string[]): string =>
  String.raw`${BEGINS}(?:(?:\w+=\S*|(?:${WRAPPERS})\s+(?:${WRAPPER_WORDS})*)\s*)*["'\\]?(?:[\w.~-]*/)*${anyOf(...names)}["']?`

/** Any words of the same command. */
export const WORDS = String.raw`(?:\s+[^\s;&|]+)*?`
/** The end of a word. */
export const END = String.raw`["']?(?:[\s;&|)${BACKTICK}"']|$)`
/** Anything on the same line, pipes too. */
export const LINE = String.raw`[^\n]*`

/** Disks as device files. */
export const DISK = '/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md)'
const SYSTEM_FOLDERS = 'bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|sys|usr|var|System|Library|Users|Applications'
/** A whole system, or what it cannot live without. */
export const SYSTEM_ROOT = String.raw`["']?/(?:\*|\.|(?:${SYSTEM_FOLDERS})(?:/\*?)?)?`
/** Everything of one person. */
export const HOME = String.raw`["']?(?:~|\$\{?HOME\}?)(?:/\*?|/\.\*)?`
/** Files that hold what proves who somebody is. */
export const CREDENTIALS = anyOf(
  String.raw`\.ssh/(?:id_|identity)`, String.raw`\.ssh/?["']?(?:\s|$)`, String.raw`\.aws/credentials`,
  String.raw`\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|gnupg)`,
  String.raw`\.docker/config\.json`, String.raw`\.kube/config`, String.raw`\.config/gcloud`, '/etc/g?shadow',
)
/** What sends bytes elsewhere. */
export const SENDERS = 'curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|http'
/** What runs a text it is handed. */
export const INTERPRETERS = 'sh|bash|zsh|dash|ksh|fish|ash|python[0-9.]*|perl|ruby|node|php|pwsh'

/** Writes to what follows. */
export const INTO_FILE = String.raw`(?:>|\btee\s+(?:-\w+\s+)*)\s*["']?`
