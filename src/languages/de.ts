import type { Texts } from './en.ts'
import { lasting } from './format.ts'

/** The texts of pages and mails in German. */
export const de: Texts = {
  code: 'de',
  name: 'Deutsch',
  format: 'de-DE',

  mails: {},

  pages: {
    email: 'E-Mail-Adresse',
    continue: 'Weiter',
    change: 'Ändern',
    again: 'Von vorn beginnen',
    errorTitle: 'Das hat nicht geklappt',
    address: {
      title: 'Anmelden',
      lead: 'Geben Sie Ihre E-Mail-Adresse ein.',
      isNew: 'Neu hier?',
      register: 'Konto anlegen',
    },
    password: { title: 'Passwort eingeben', label: 'Passwort', forgot: 'Passwort vergessen?' },
    code: {
      title: 'Bestätigen Sie, dass Sie es sind',
      ofApp: 'Geben Sie den Code aus Ihrer Authenticator-App ein.',
      ofMail: (email) => `Geben Sie den Code ein, den wir an ${email || 'Ihre Adresse'} geschickt haben.`,
      ofList: 'Geben Sie einen Ihrer Wiederherstellungscodes ein.',
      label: 'Code',
      orRecovery: 'Auch ein Wiederherstellungscode ist möglich.',
      mail: 'Code stattdessen per E-Mail senden',
      again: 'Neuen Code senden',
      other: 'Mit einer anderen Adresse anmelden',
      notYet:
        'Der Code stimmt, aber dieser Faktor ist noch zu neu, um hier zu genügen. Zeigen Sie einen anderen, oder kommen Sie morgen wieder.',
      another: 'Anderen Faktor zeigen',
    },
    signedIn: { title: 'Sie sind angemeldet', switch: 'Organisation wechseln', signOut: 'Abmelden' },
    organisation: { title: 'Organisation wählen', lead: 'Sie gehören zu mehreren. Wohin möchten Sie?' },
    signedOut: {
      title: 'Sie sind abgemeldet',
      lead: 'Sie können diese Seite schließen.',
      again: 'Wieder anmelden',
    },
    leave: { title: 'Sie sind angemeldet', lead: 'Einen Moment, es geht zurück.' },
    refusals: {
      invalid_credentials: () =>
        'Adresse und Passwort passen nicht zusammen. Prüfen Sie beides, oder setzen Sie das Passwort zurück.',
      otp_invalid: () => 'Dieser Code stimmt nicht oder ist abgelaufen. Nehmen Sie den neuesten.',
      account_locked: (wait) =>
        `Zu viele Versuche. Warten Sie ${minutes(wait)}, oder setzen Sie das Passwort zurück.`,
      throttled: (wait) => `Zu viele Versuche. Warten Sie ${minutes(wait)}.`,
      channel_disabled: () =>
        'Diese Organisation verlangt einen zweiten Faktor, und Sie haben keinen, der hier gilt. Wenden Sie sich an die Menschen, die sie verwalten.',
      no_active_membership: () => 'Sie sind kein Mitglied dieser Organisation mehr.',
      tenant_suspended: () =>
        'Diese Organisation ist gesperrt. Wenden Sie sich an die Menschen, die sie verwalten.',
      tenant_archived: () =>
        'Diese Organisation ist geschlossen. Wenden Sie sich an die Menschen, die sie verwaltet haben.',
      token_not_valid: () => 'Das hat zu lange gedauert. Beginnen Sie von vorn.',
      not_authenticated: () => 'Das hat zu lange gedauert. Beginnen Sie von vorn.',
      session_revoked: () => 'Sie wurden abgemeldet. Beginnen Sie von vorn.',
      form_not_valid: () =>
        'Dieses Formular gehört zu einem anderen Browser oder ist zu alt. Beginnen Sie von vorn.',
      cross_site_request: () =>
        'Dieses Formular kam von einer anderen Website und wurde nicht angenommen. Beginnen Sie von vorn.',
      not_found: () => 'Diese Seite gibt es nicht.',
      overloaded: () => 'Gerade melden sich viele an. Versuchen Sie es gleich wieder.',
      dependency_unavailable: () =>
        'Der Dienst ist gerade nicht vollständig. Versuchen Sie es gleich wieder.',
      internal_error: () => 'Der Dienst hat versagt. Der Fehler ist notiert. Versuchen Sie es gleich wieder.',
    },
    faults: {},
  },
}

const minutes = (wait: number) => lasting('de')(Math.max(1, Math.ceil(wait / 60)))
