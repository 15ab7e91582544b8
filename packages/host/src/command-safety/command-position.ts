/**
 * Pieces of patterns for command lines of any shell. They say where a command can begin, so that a text which merely speaks
 * of one is left alone: `git log --grep "rm -rf /"` removes nothing.
 */
const WRAPPERS = 'sudo|doas|env|nohup|nice|ionice|time|timeout|exec|eval|xargs|command|builtin|busybox|then|do|else|stdbuf|setsid'
/** Options of a wrapper, with the user of `-u`, and what is set for it. */
const WRAPPER_WORDS = String.raw`(?:-u\s+\S+|-\S*|\w+=\S*|\d\S*)\s+`
const BEGINS = String.raw`(?:^|[\n;&|(){}` + '`' + String.raw`]|\s-l?c\s*\\?["']|<\()\s*`

/** Matches up to a command that bears one of these names, by whichever path. */
export const command = (...names: readonly string[]): string =>
  String.raw`${BEGINS}(?:(?:\w+=\S*|(?:${WRAPPERS})\s+(?:${WRAPPER_WORDS})*)\s*)*["'\\]?(?:[\w.~-]*/)*(?:${names.join('|')})["']?`

/** Any words of the same command. */
export const WORDS = String.raw`(?:\s+[^\s;&|]+)*?`
/** The end of a word. */
export const END = String.raw`["']?(?:[\s;&|)` + '`' + String.raw`"']|$)`
/** Anything on the same line, pipes too. */
export const LINE = String.raw`[^\n]*`

/** Disks as device files. */
export const DISK = '/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md)'
/** A whole system, or what it cannot live without. */
export const SYSTEM_ROOT = String.raw`["']?/(?:\*|\.|(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|sys|usr|var|System|Library|Users|Applications)(?:/\*?)?)?`
/** Everything of one person. */
export const HOME = String.raw`["']?(?:~|\$\{?HOME\}?)(?:/\*?|/\.\*)?`
/** Files that hold what proves who somebody is. */
export const CREDENTIALS = String.raw`(?:\.ssh/(?:id_|identity)|\.ssh/?["']?(?:\s|$)|\.aws/credentials|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.docker/config\.json|\.kube/config|\.gnupg|/etc/g?shadow|\.config/gcloud)`
/** What sends bytes elsewhere. */
export const SENDERS = 'curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|http'
/** What runs a text it is handed. */
export const INTERPRETERS = 'sh|bash|zsh|dash|ksh|fish|ash|python[0-9.]*|perl|ruby|node|php|pwsh'
